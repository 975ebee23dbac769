CREATE TRIGGER {{ name }} {{ event }} ON {{ table }}{{ body }};
