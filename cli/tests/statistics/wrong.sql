-- The number of counts that are not those of the rows.
SELECT (SELECT COUNT(*) FROM posts p WHERE
        (SELECT COALESCE(SUM(score), 0) FROM post_scores WHERE post_id = p.id) <> p.score
        OR (SELECT COUNT(*) FROM comments WHERE post_id = p.id) <> p.comment_count
        OR (SELECT COUNT(*) FROM post_favorites WHERE post_id = p.id) <> p.favorite_count
        OR (SELECT COUNT(*) FROM post_tags WHERE post_id = p.id) <> p.tag_count)
    + (SELECT COUNT(*) FROM pools WHERE
        (SELECT COUNT(*) FROM pool_posts WHERE pool_id = pools.id) <> pools.post_count)
    + (SELECT COUNT(*) FROM tags t WHERE
        (SELECT COUNT(*) FROM post_tags WHERE tag_id = t.id)
            <> (SELECT COALESCE(SUM(usages), 0) FROM tag_counters WHERE tag_id = t.id))
    + (SELECT COUNT(*) FROM users u WHERE
        (SELECT COUNT(*) FROM comments WHERE user_id = u.id) <> u.comment_count
        OR (SELECT COUNT(*) FROM post_favorites WHERE user_id = u.id) <> u.favorite_count
        OR (SELECT COUNT(*) FROM posts WHERE user_id = u.id) <> u.upload_count)
    + (SELECT COUNT(*) FROM site_counters
        HAVING SUM(posts) <> (SELECT COUNT(*) FROM posts)
        OR SUM(comments) <> (SELECT COUNT(*) FROM comments)
        OR SUM(disk_usage) <> (SELECT COALESCE(SUM(file_size + thumbnail_size), 0) FROM posts)
        UNION ALL SELECT 0 LIMIT 1)
