// Runs before the first paint, so that a reader who chose a theme never sees the other one flash by.
// Everything else about themes is in app/theme.js.
try {
  const chosen = localStorage.getItem('turnwise.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden. Then the system's theme is as good.
}
