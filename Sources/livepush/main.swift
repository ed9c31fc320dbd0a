print(PackageResources._001_tables_sql.count + PackageResources._002_views_sql.count)
