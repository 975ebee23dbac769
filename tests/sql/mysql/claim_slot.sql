-- claim_slot().execute(conn)

SET
    @diesel_counters_number = COALESCE(
        @diesel_counters_number,
        (
            WITH
            RECURSIVE numbers (n, is_claimed) AS (
                SELECT 0, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE (), 0), 224), 0)
                UNION ALL
                SELECT n + 1, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE (), n + 1), 224), 0)
                FROM numbers
                WHERE is_claimed = 0
                    AND n < 998
            )
            SELECT n
            FROM numbers
            WHERE is_claimed = 1
        )
    );

