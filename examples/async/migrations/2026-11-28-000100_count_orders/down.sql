DROP TRIGGER IF EXISTS "count_orders_truncate" ON "public"."orders";
DROP TRIGGER IF EXISTS "count_orders_delete" ON "public"."orders";
DROP TRIGGER IF EXISTS "count_orders_update" ON "public"."orders";
DROP TRIGGER IF EXISTS "count_orders_insert" ON "public"."orders";
DROP FUNCTION IF EXISTS "public"."count_orders_insert"(), "public"."count_orders_update"(),
    "public"."count_orders_delete"(), "public"."count_orders_truncate"();
