//! The right to create triggers on a server with a binary log.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;

use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::sql::sql;

/// Says what to do if MySQL would refuse the migration with error 1419: with a binary log, only
/// some accounts can create triggers.
pub fn advice(conn: &mut AnyConnection) -> Result<Option<String>> {
    if conn.database() != MYSQL {
        return Ok(None);
    }
    // With a binary log, CREATE TRIGGER requires SUPER unless the server trusts everyone. In an
    // account, the host comes after the last @.
    let refuses = sql(
        "SELECT @@GLOBAL.log_bin AND NOT @@GLOBAL.log_bin_trust_function_creators AND NOT EXISTS (
             SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'SUPER'
                 AND grantee = (
                     SELECT CONCAT('''', LEFT(account, CHAR_LENGTH(account) - CHAR_LENGTH(host) - 1),
                         '''@''', host, '''')
                     FROM (SELECT account, SUBSTRING_INDEX(account, '@', -1) AS host
                           FROM (SELECT CAST(CURRENT_USER() AS CHAR) AS account) AS this) AS parts))",
    );
    let advice = "the server has a binary log, and this account may not be able to create triggers \
                  there (error 1419). GRANT SUPER ON *.* to it, or SET GLOBAL \
                  log_bin_trust_function_creators = ON, before you run the migration";
    let is_refused: bool = refuses.typed::<Bool>().get_result(conn)?;
    Ok(is_refused.then(|| advice.to_owned()))
}
