CREATE TRIGGER bench_count_post AFTER INSERT ON bench_posts FOR EACH ROW BEGIN
    INSERT INTO bench_post_statistics (post_id) VALUES (NEW.id);
    UPDATE bench_site_statistics SET post_count = post_count + 1;
END;

CREATE TRIGGER bench_count_tag AFTER INSERT ON bench_post_tags FOR EACH ROW BEGIN
    UPDATE bench_post_statistics SET tag_count = tag_count + 1 WHERE post_id = NEW.post_id;
    UPDATE bench_tag_statistics SET usage_count = usage_count + 1 WHERE tag_id = NEW.tag_id;
END;

CREATE TRIGGER bench_uncount_tag AFTER DELETE ON bench_post_tags FOR EACH ROW BEGIN
    UPDATE bench_post_statistics SET tag_count = tag_count - 1 WHERE post_id = OLD.post_id;
    UPDATE bench_tag_statistics SET usage_count = usage_count - 1 WHERE tag_id = OLD.tag_id;
END;

INSERT INTO bench_post_statistics SELECT post_id, COUNT(*) FROM bench_post_tags GROUP BY post_id;
INSERT INTO bench_tag_statistics SELECT tag_id, COUNT(*) FROM bench_post_tags GROUP BY tag_id;
INSERT INTO bench_site_statistics SELECT COUNT(*) FROM bench_posts;
