// Shows that a cluster can lose an abort: another node aborts a transaction, its session is not told,
// and the rest of the transaction commits.
//
//   cc -O1 lost_abort.c $(mariadb_config --cflags --libs) -lpthread -o lost_abort
//   ./lost_abort prepare 3306 3307     # or savepoint, or query
//
// Both ports are nodes of one cluster, for root without a password, with a database `test`. One
// thread adds 1 in transactions on the first node and counts the COMMITs that were acknowledged.
// Another thread updates the same row on the second node.
//
// MariaDB 10.11 (Galera) loses aborts during PREPARE, and MySQL 9.7 (Group Replication) during
// SAVEPOINT.
#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int stopped;

static MYSQL *connect_to(const char *port) {
  MYSQL *conn = mysql_init(NULL);
  if (!mysql_real_connect(conn, "127.0.0.1", "root", "", "test", atoi(port), NULL, 0)) {
    fprintf(stderr, "%s\n", mysql_error(conn));
    exit(2);
  }
  return conn;
}

static void run(MYSQL *conn, const char *sql) {
  if (mysql_query(conn, sql)) {
    fprintf(stderr, "%s: %s\n", sql, mysql_error(conn));
    exit(2);
  }
}

static void *conflict(void *port) {
  MYSQL *conn = connect_to(port);
  while (!stopped) {
    mysql_query(conn, "UPDATE lost SET other = other + 1 WHERE id = 1");
    usleep(1000 + rand() % 2000);
  }
  mysql_close(conn);
  return NULL;
}

// Does something in the transaction. Returns whether the session was told of an error.
static int step(MYSQL *conn, const char *kind) {
  static const char sql[] = "SELECT added FROM lost WHERE id = 1";
  if (!strcmp(kind, "savepoint"))
    return mysql_query(conn, "SAVEPOINT a") || mysql_query(conn, "RELEASE SAVEPOINT a");
  if (strcmp(kind, "prepare"))
    return mysql_query(conn, "DO 1");
  MYSQL_STMT *statement = mysql_stmt_init(conn);
  int failed = mysql_stmt_prepare(statement, sql, sizeof sql - 1);
  mysql_stmt_close(statement);
  return failed;
}

int main(int count, char **args) {
  if (count != 4) {
    fprintf(stderr, "usage: lost_abort prepare|savepoint|query PORT PORT\n");
    return 2;
  }
  MYSQL *conn = connect_to(args[2]);
  run(conn, "DROP TABLE IF EXISTS lost");
  run(conn, "CREATE TABLE lost (id INT PRIMARY KEY, added BIGINT, other BIGINT)");
  run(conn, "INSERT INTO lost VALUES (1, 0, 0)");
  pthread_t thread;
  pthread_create(&thread, NULL, conflict, args[3]);

  long acknowledged = 0, aborted = 0;
  for (time_t end = time(NULL) + 8; time(NULL) < end;) {
    int failed = mysql_query(conn, "BEGIN") ||
                 mysql_query(conn, "UPDATE lost SET added = added + 1 WHERE id = 1");
    for (int i = 0; i < 60 && !failed; i++)
      failed = step(conn, args[1]);
    failed = failed || mysql_query(conn, "COMMIT");
    if (failed) {
      aborted++;
      mysql_query(conn, "ROLLBACK");
    } else {
      acknowledged++;
    }
  }
  stopped = 1;
  pthread_join(thread, NULL);

  run(conn, "SELECT added FROM lost WHERE id = 1");
  MYSQL_RES *rows = mysql_store_result(conn);
  long stored = atol(mysql_fetch_row(rows)[0]);
  mysql_free_result(rows);
  printf("%s: %ld acknowledged, %ld aborted with an error, %ld in the table, %ld lost\n", args[1],
         acknowledged, aborted, stored, acknowledged - stored);
  return acknowledged != stored;
}
