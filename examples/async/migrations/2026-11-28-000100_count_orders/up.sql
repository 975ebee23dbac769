SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- Rows that a policy would hide are an error.
SET LOCAL row_security = off;
-- The functions run with the rights of whoever writes the rows. They find their tables in the schemas of this session,
-- and never in temporary tables.
SELECT set_config('search_path',
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', true);

-- The slot of this session. Each session has a number: the lowest one that no other session has.
CREATE OR REPLACE FUNCTION diesel_counters_slot(slots INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    number INTEGER := NULLIF(current_setting('diesel_counters.number', true), '');
BEGIN
    IF number IS NULL THEN
        SELECT free INTO number FROM generate_series(0, 999) AS free
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), free) LIMIT 1;
        number := COALESCE(number, pg_backend_pid());
        PERFORM set_config('diesel_counters.number', number::TEXT, false);
    END IF;
    RETURN 1 + number % slots;
END $$;

-- Until this commits, writers of these tables wait.
LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of orders in product_counters.sold.
CREATE FUNCTION count_orders_insert() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO product_counters AS counters (product_id, day, slot, sold)
    SELECT product_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        SUM(units)
    FROM new_rows
    GROUP BY 1
    HAVING SUM(units) <> 0
    ORDER BY 1
    ON CONFLICT (product_id, day, slot) DO UPDATE SET sold = counters.sold + excluded.sold;
    RETURN NULL;
END $$;

CREATE FUNCTION count_orders_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO product_counters AS counters (product_id, day, slot, sold)
    SELECT product_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        SUM(sold)
    FROM (
        SELECT product_id, -units AS sold
        FROM old_rows
        UNION ALL
        SELECT product_id, units AS sold
        FROM new_rows
    ) AS changes
    GROUP BY 1
    -- Where products are being deleted, their counts go with them.
    HAVING SUM(sold) <> 0
        AND EXISTS (SELECT FROM products WHERE products.id = changes.product_id)
    ORDER BY 1
    ON CONFLICT (product_id, day, slot) DO UPDATE SET sold = counters.sold + excluded.sold;
    RETURN NULL;
END $$;

CREATE FUNCTION count_orders_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    INSERT INTO product_counters AS counters (product_id, day, slot, sold)
    SELECT product_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        -SUM(units)
    FROM old_rows AS gone
    GROUP BY 1
    -- Where products are being deleted, their counts go with them.
    HAVING SUM(units) <> 0
        AND EXISTS (SELECT FROM products WHERE products.id = gone.product_id)
    ORDER BY 1
    ON CONFLICT (product_id, day, slot) DO UPDATE SET sold = counters.sold + excluded.sold;
    RETURN NULL;
END $$;

CREATE FUNCTION count_orders_truncate() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS $$
BEGIN
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE is counted at READ COMMITTED only: use DELETE';
    END IF;
    INSERT INTO product_counters AS counters (product_id, day, slot, sold)
    SELECT product_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), diesel_counters_slot(32),
        -SUM(units)
    FROM orders
    GROUP BY 1
    HAVING SUM(units) <> 0
    ORDER BY 1
    ON CONFLICT (product_id, day, slot) DO UPDATE SET sold = counters.sold + excluded.sold;
    RETURN NULL;
END $$;

CREATE TRIGGER count_orders_insert AFTER INSERT ON orders REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_orders_insert();
CREATE TRIGGER count_orders_update AFTER UPDATE ON orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_orders_update();
CREATE TRIGGER count_orders_delete AFTER DELETE ON orders REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_orders_delete();
CREATE TRIGGER count_orders_truncate BEFORE TRUNCATE ON orders
    FOR EACH STATEMENT EXECUTE FUNCTION count_orders_truncate();

-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
INSERT INTO product_counters AS counters (product_id, day, slot, sold)
SELECT counted.product_id, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), 0, SUM(counted.units)
FROM orders AS counted
GROUP BY 1
HAVING (
    SELECT COALESCE(SUM(sold), 0) FROM product_counters AS kept
    WHERE kept.product_id = counted.product_id
) = 0
    AND SUM(counted.units) <> 0
ORDER BY 1
ON CONFLICT (product_id, day, slot) DO UPDATE SET sold = counters.sold + excluded.sold;

