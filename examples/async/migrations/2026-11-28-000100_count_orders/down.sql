DROP TRIGGER IF EXISTS count_orders_truncate ON orders;
DROP TRIGGER IF EXISTS count_orders_delete ON orders;
DROP TRIGGER IF EXISTS count_orders_update ON orders;
DROP TRIGGER IF EXISTS count_orders_insert ON orders;
DROP FUNCTION IF EXISTS count_orders_truncate(), count_orders_delete(), count_orders_update(), count_orders_insert();
