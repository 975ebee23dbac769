"""SQLite for scripts/restore, by Python's own library: its shell may be missing.

create FILE                 creates a database in which readers do not wait
run FILE                    runs the statements of the standard input
dump|backup|vacuum FILE TO  restores a copy of FILE to TO, as .dump, .backup and VACUUM INTO do
"""

import sqlite3
import sys

action, *files = sys.argv[1:]
connection = sqlite3.connect(files[0], timeout=60, isolation_level=None)
connection.execute("PRAGMA foreign_keys = ON")
connection.execute("PRAGMA recursive_triggers = ON")
if action == "create":
    connection.execute("PRAGMA journal_mode = WAL")
elif action == "run":
    connection.execute("PRAGMA synchronous = OFF")
    statement = ""
    for line in sys.stdin:
        # A transaction of a client takes the write lock at once.
        statement += line.replace("BEGIN;", "BEGIN IMMEDIATE;")
        while sqlite3.complete_statement(statement):
            connection.executescript(statement) if statement.count(";") > 1 else print(
                *(row[0] for row in connection.execute(statement)), sep="\n", end=""
            )
            statement = ""
    for row in connection.execute(statement):
        print(row[0])
elif action == "dump":
    # One snapshot, as the shell's .dump has it.
    connection.execute("BEGIN")
    with sqlite3.connect(files[1]) as restored:
        restored.executescript("\n".join(connection.iterdump()))
elif action == "backup":
    with sqlite3.connect(files[1]) as restored:
        connection.backup(restored)
elif action == "vacuum":
    connection.execute("VACUUM INTO ?", (files[1],))
