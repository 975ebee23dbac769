DO $diesel_counters$
#variable_conflict use_column
DECLARE
    counting_search_path TEXT := pg_catalog.current_setting('search_path');
    counting_row_security TEXT := pg_catalog.current_setting('row_security');
BEGIN
-- Names are those of the server's own functions, and a policy that would hide rows is an error.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('row_security', 'off', true);
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- The triggers run with the rights of this role, and the triggers of these tables run within them.
IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
    AND oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass)) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
-- The owner of a table that is read can have code run with the rights of this role, so it must have them already.
IF EXISTS (SELECT FROM pg_class WHERE NOT pg_has_role(relowner, current_user, 'USAGE')
    AND oid IN ('"public"."products"'::regclass)) THEN
    RAISE 'the owner of a table that the counters refer to could use the rights of %: give the tables to one role',
        current_user;
END IF;
-- Until this ends, others cannot write these tables.
LOCK TABLE "public"."orders" IN SHARE ROW EXCLUSIVE MODE;

-- Counts the rows of orders in product_counters.sold.
CREATE FUNCTION "public"."count_orders_insert"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: {"name":"count_orders","rows":"orders","count":["product_id:product_counters.sold=units"],
--     "by":"1","period":"day","slots":32,"migration":1}
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'orders' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'orders', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'INSERT' THEN
        RAISE 'this function counts at INSERT, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass)
        HAVING COUNT(*) = 2;
    IF NOT FOUND THEN
        RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
    END IF;
    INSERT INTO "public"."product_counters" AS kept ("product_id", "day", "slot", "sold")
    SELECT "product_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting.counting_slot,
        CAST(SUM(COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT)
    FROM new_rows
    GROUP BY 1
    HAVING (CAST(SUM(COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT) <> 0)
    ORDER BY 1
    ON CONFLICT ("product_id", "day", "slot") DO UPDATE SET
        "sold" = kept."sold" + excluded."sold";
    RETURN NULL;
END
$counting$;
COMMENT ON FUNCTION "public"."count_orders_insert"() IS
    'diesel_counters: {"name":"count_orders","rows":"orders","count":["product_id:product_counters.sold=units"],'
    '"by":"1","period":"day","slots":32,"migration":1}';
REVOKE EXECUTE ON FUNCTION "public"."count_orders_insert"() FROM PUBLIC;
CREATE FUNCTION "public"."count_orders_update"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see count_orders_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'orders' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'orders', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'UPDATE' THEN
        RAISE 'this function counts at UPDATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass,
            '"public"."products"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."products"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 3;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."product_counters" AS kept ("product_id", "day", "slot", "sold")
    SELECT "product_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting.counting_slot,
        CAST(SUM("sold") AS BIGINT)
    FROM (
        SELECT "product_id", -COALESCE(CAST("units" AS BIGINT), 0) AS "sold"
        FROM old_rows
        UNION ALL
        SELECT "product_id", COALESCE(CAST("units" AS BIGINT), 0) AS "sold"
        FROM new_rows
    ) AS moved
    GROUP BY "product_id"
    HAVING SUM("sold") <> 0
        AND EXISTS (SELECT 1 FROM "public"."products" AS parent WHERE parent."id" = moved."product_id")
    ORDER BY 1
    ON CONFLICT ("product_id", "day", "slot") DO UPDATE SET
        "sold" = kept."sold" + excluded."sold";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."count_orders_update"() FROM PUBLIC;
CREATE FUNCTION "public"."count_orders_delete"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see count_orders_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'orders' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'orders', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'DELETE' THEN
        RAISE 'this function counts at DELETE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass,
            '"public"."products"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."products"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 3;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    INSERT INTO "public"."product_counters" AS kept ("product_id", "day", "slot", "sold")
    SELECT "product_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting.counting_slot,
        CAST(SUM(-COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT)
    FROM old_rows AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."products" AS parent WHERE parent."id" = moved."product_id")
    ORDER BY 1
    ON CONFLICT ("product_id", "day", "slot") DO UPDATE SET
        "sold" = kept."sold" + excluded."sold";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."count_orders_delete"() FROM PUBLIC;
CREATE FUNCTION "public"."count_orders_truncate"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $counting$
-- diesel_counters: see count_orders_insert()
#variable_conflict use_column
<<counting>>
DECLARE
    counting_slot INTEGER := 1 + COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int,
        (SELECT set_config('diesel_counters.number', n::text, false)::int FROM generate_series(0, 999) AS n
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid()) % 32;
BEGIN
    -- Whoever may use this function could attach it to another table, and count its rows with our rights.
    IF TG_TABLE_SCHEMA <> 'public' OR TG_TABLE_NAME <> 'orders' THEN
        RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',
            'public', 'orders', TG_TABLE_SCHEMA, TG_TABLE_NAME;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        RAISE 'this function counts at TRUNCATE, not at %: generate the triggers again', TG_OP;
    END IF;
    -- If a table that is named below was renamed, another role can have created one with its name.
    PERFORM FROM pg_class WHERE pg_get_userbyid(relowner) = current_user
        AND oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass,
            '"public"."products"'::regclass)
        HAVING COUNT(*) = 3;
    IF NOT FOUND THEN
        -- The owner of a parent can have code run with our rights, so it must have them already.
        PERFORM FROM pg_class WHERE (oid IN ('"public"."orders"'::regclass, '"public"."product_counters"'::regclass)
            AND pg_get_userbyid(relowner) = current_user)
            OR (oid IN ('"public"."products"'::regclass) AND pg_has_role(relowner, current_user, 'USAGE'))
            HAVING COUNT(*) = 3;
        IF NOT FOUND THEN
            RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;
        END IF;
    END IF;
    -- At another level, the snapshot can be older than rows that TRUNCATE removes.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',
            current_setting('transaction_isolation');
    END IF;
    INSERT INTO "public"."product_counters" AS kept ("product_id", "day", "slot", "sold")
    SELECT "product_id", CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE), counting.counting_slot,
        CAST(SUM(-COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT)
    FROM "public"."orders" AS moved
    GROUP BY 1
    HAVING (CAST(SUM(-COALESCE(CAST("units" AS BIGINT), 0)) AS BIGINT) <> 0)
        AND EXISTS (SELECT 1 FROM "public"."products" AS parent WHERE parent."id" = moved."product_id")
    ORDER BY 1
    ON CONFLICT ("product_id", "day", "slot") DO UPDATE SET
        "sold" = kept."sold" + excluded."sold";
    RETURN NULL;
END
$counting$;
REVOKE EXECUTE ON FUNCTION "public"."count_orders_truncate"() FROM PUBLIC;
-- Counts the existing rows: adds the difference between the rows and the counters.
INSERT INTO "public"."product_counters" AS kept ("product_id", "day", "slot", "sold")
SELECT "product_id", DATE '1970-01-01', 0, drift."sold" - drift."stored_sold"
FROM (
    SELECT "product_id", SUM("sold") AS "sold", SUM("stored_sold") AS "stored_sold"
    FROM (
        SELECT counted."product_id", COALESCE(CAST(counted."units" AS BIGINT), 0) AS "sold", 0 AS "stored_sold"
        FROM "public"."orders" AS counted
        UNION ALL
        SELECT kept."product_id", 0, kept."sold"
        FROM "public"."product_counters" AS kept
    ) AS moved
    GROUP BY "product_id"
    HAVING SUM("sold") <> SUM("stored_sold")
) AS drift
ORDER BY 1
ON CONFLICT ("product_id", "day", "slot") DO UPDATE SET
    "sold" = kept."sold" + excluded."sold";
CREATE TRIGGER "count_orders_insert" AFTER INSERT ON "public"."orders"
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_orders_insert"();
CREATE TRIGGER "count_orders_update" AFTER UPDATE ON "public"."orders"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_orders_update"();
CREATE TRIGGER "count_orders_delete" AFTER DELETE ON "public"."orders"
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_orders_delete"();
CREATE TRIGGER "count_orders_truncate" BEFORE TRUNCATE ON "public"."orders"
    FOR EACH STATEMENT EXECUTE FUNCTION "public"."count_orders_truncate"();

PERFORM set_config('search_path', counting_search_path, true), set_config('row_security', counting_row_security, true);
END
$diesel_counters$;
