-- claim_slot().execute(conn)

SELECT (1);

