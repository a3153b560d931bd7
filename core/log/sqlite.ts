import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'

/**
 * SQLite's driver. No release of it runs on every Node that we support: 12 ends the process on Node 24.19 and later, 13 needs Node 22.
 * Where 13 was not installed (it is optional, for npm leaves it out on Node 20), 12 has to do.
 */
export const SqliteDatabase: typeof BetterSqlite3 = load()

export type SqliteDatabase = BetterSqlite3.Database

function load(): typeof BetterSqlite3 {
  const require = createRequire(import.meta.url)
  if (Number(process.versions.node.split('.')[0]) < 22) return require('better-sqlite3')
  try {
    return require('better-sqlite3-13')
  } catch {
    return require('better-sqlite3')
  }
}
