DROP TABLE stock;
DROP TABLE product_counters;
DROP TABLE orders;
DROP TABLE products;
