//! The schema: which version it has, and whether this user may do there what a node does.

use tokio_postgres::Row;
use turnwise_core::name::Name;

use super::Asking;
use crate::examine::Findings;
use crate::postgres::schema::{SCHEMA, quoted};

/// What a node does with rows.
const RIGHTS: &str = "SELECT, INSERT, UPDATE, DELETE";

/// What is in the way, and the words that remove it.
enum Trouble {
    Schema(String),
    Rights(String),
}

impl Asking<'_> {
    /// Looks at the schema, and gives the kinds that are declared in it.
    pub(super) async fn schema(&self, findings: &mut Findings) -> Result<Vec<Name>, String> {
        let row = self.row("SELECT current_user::text, current_database()::text").await?;
        let (user, database) = (quoted(row.get(0)), quoted(row.get(1)));
        match self.judged(&user, &database).await? {
            Ok(says) => {
                findings.ok("schema", says);
                findings.ok("permissions", format!("user {user} may do there what a node does"));
                self.kinds().await
            }
            Err(Trouble::Schema(says)) => {
                findings.fail("schema", says);
                Ok(Vec::new())
            }
            Err(Trouble::Rights(says)) => {
                findings.fail("permissions", says);
                Ok(Vec::new())
            }
        }
    }

    async fn judged(&self, user: &str, database: &str) -> Result<Result<String, Trouble>, String> {
        let schema = quoted(&self.options.schema);
        let found = self
            .rows(
                "SELECT has_schema_privilege(oid, 'USAGE'), has_schema_privilege(oid, 'CREATE') \
                 FROM pg_namespace WHERE nspname = $1",
                &[&self.options.schema],
            )
            .await?;
        let Some(row) = found.first() else { return self.absent(user, database).await };
        let (may_use, may_create): (bool, bool) = (row.get(0), row.get(1));
        if !may_use {
            return Ok(Err(Trouble::Rights(format!(
                "user {user} may not use schema {schema}: GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}"
            ))));
        }
        let tables = self.tables().await?;
        let has = |name: &str| tables.iter().any(|table| table.name == name);
        let half = format!(
            "schema {schema} is half made: no version is written down. Restore a backup, or remove what is left with \
             DROP SCHEMA {schema} CASCADE"
        );
        if !has("version") {
            return Ok(match (has("job"), may_create) {
                (true, _) => Err(Trouble::Schema(half)),
                (false, true) => Ok(format!("{schema} is empty: the first node makes its tables")),
                (false, false) => Err(Trouble::Rights(format!(
                    "user {user} may not make tables in schema {schema}: GRANT CREATE ON SCHEMA {schema} TO {user}"
                ))),
            });
        }
        if tables.iter().any(|table| !table.is_open) {
            return Ok(Err(Trouble::Rights(format!(
                "user {user} may not read and write every table of schema {schema}: GRANT {RIGHTS} ON ALL TABLES IN \
                 SCHEMA {schema} TO {user}; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {user}"
            ))));
        }
        let rows = self.rows(&format!("SELECT number, serves FROM {schema}.version"), &[]).await?;
        let Some(version) = rows.first().map(|row| (row.get(0), row.get(1))) else {
            return Ok(Err(Trouble::Schema(half)));
        };
        Ok(self.of_version(version, user, &tables))
    }

    fn of_version(
        &self,
        (version, serves): (i32, i32),
        user: &str,
        tables: &[Table],
    ) -> Result<String, Trouble> {
        let schema = quoted(&self.options.schema);
        if serves > SCHEMA {
            return Err(Trouble::Schema(format!(
                "schema {schema} has version {version}, and this program knows {SCHEMA}: upgrade Turnwise on this machine"
            )));
        }
        if version > SCHEMA {
            return Ok(format!(
                "{schema} has version {version}, which this program, made for {SCHEMA}, can still work with: upgrade it soon"
            ));
        }
        if version == SCHEMA {
            return Ok(format!("{schema} has version {version}, as this program wants it"));
        }
        match tables.iter().find(|table| !table.is_ours) {
            Some(Table { owner, .. }) => Err(Trouble::Rights(format!(
                "schema {schema} has version {version} and must be brought to {SCHEMA}, which only the owner of its tables \
                 may do: start one node as {owner}, or GRANT {owner} TO {user}"
            ))),
            None => Ok(format!(
                "{schema} has version {version}: the next node that starts brings it to {SCHEMA}. Only nodes of the version before \
                 may go on beside it"
            )),
        }
    }

    async fn absent(&self, user: &str, database: &str) -> Result<Result<String, Trouble>, String> {
        let schema = quoted(&self.options.schema);
        let row = self.row("SELECT has_database_privilege(current_database(), 'CREATE')").await?;
        Ok(match row.get(0) {
            true => Ok(format!("{schema} is not there yet: the first node makes it")),
            false => Err(Trouble::Rights(format!(
                "schema {schema} is not there, and user {user} may not make it: CREATE SCHEMA {schema} AUTHORIZATION \
                 {user}, or GRANT CREATE ON DATABASE {database} TO {user}"
            ))),
        })
    }

    async fn tables(&self) -> Result<Vec<Table>, String> {
        let sql = "SELECT c.relname::text, pg_get_userbyid(c.relowner)::text, pg_has_role(c.relowner, 'USAGE'), \
                   has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') \
                   AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') \
                   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')";
        let rows = self.rows(sql, &[&self.options.schema]).await?;
        let table = |row: &Row| Table {
            name: row.get(0),
            owner: quoted(row.get(1)),
            is_ours: row.get(2),
            is_open: row.get(3),
        };
        Ok(rows.iter().map(table).collect())
    }

    /// The kinds that are declared. Where there are no tables yet, there are none.
    async fn kinds(&self) -> Result<Vec<Name>, String> {
        let record = format!("{}.record", quoted(&self.options.schema));
        if self
            .rows("SELECT to_regclass($1)::text WHERE to_regclass($1) IS NOT NULL", &[&record])
            .await?
            .is_empty()
        {
            return Ok(Vec::new());
        }
        let rows =
            self.rows(&format!("SELECT key FROM {record} WHERE space = 'kind' ORDER BY key"), &[]).await?;
        Ok(rows.iter().filter_map(|row| Name::new(row.get::<_, &str>(0)).ok()).collect())
    }
}

/// A table, and what this user may do with it.
struct Table {
    name: String,
    owner: String,
    /// Whether this user may change its shape.
    is_ours: bool,
    /// Whether it may read and write its rows.
    is_open: bool,
}
