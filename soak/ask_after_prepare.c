// Asks after each PREPARE in a transaction whether the transaction still exists, and fails the
// PREPARE with 1213 if it does not. With it, the checker can be run on MariaDB Galera, which loses
// such aborts (see lost_abort.c):
//
//   cc -O1 -shared -fPIC ask_after_prepare.c $(mariadb_config --cflags) -ldl -o ask_after_prepare.so
//   LD_PRELOAD=$PWD/ask_after_prepare.so cargo run -p soak --features mysql -- …
//
// For tests only: it costs a round trip for each PREPARE. It prints each abort that it found.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mysql.h>
#include <stdio.h>
#include <string.h>

static void set_deadlock(char *state, char *text, unsigned int *number) {
  *number = 1213;
  strcpy(state, "40001");
  strcpy(text, "Deadlock: the transaction was aborted during PREPARE");
}

int STDCALL mysql_stmt_prepare(MYSQL_STMT *statement, const char *sql, unsigned long length) {
  int (*prepare)(MYSQL_STMT *, const char *, unsigned long) =
      dlsym(RTLD_NEXT, "mysql_stmt_prepare");
  MYSQL *conn = statement->mysql;
  int in_transaction = conn->server_status & SERVER_STATUS_IN_TRANS;
  int failed = prepare(statement, sql, length);
  if (failed || !in_transaction)
    return failed;
  int told = mysql_query(conn, "DO 1");
  if (!told && conn->server_status & SERVER_STATUS_IN_TRANS)
    return 0;
  fprintf(stderr, "ask_after_prepare: %s\n", told ? mysql_error(conn) : "lost during PREPARE");
  set_deadlock(statement->sqlstate, statement->last_error, &statement->last_errno);
  set_deadlock(conn->net.sqlstate, conn->net.last_error, &conn->net.last_errno);
  return 1;
}
