import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { chown, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Context } from 'mocha'
import pg from 'pg'
import { skip } from './skip.ts'
import { waitUntil } from './wait.ts'

/** A private PostgreSQL server that listens on a Unix socket only. */
export interface RunningPostgres {
  /** Connection string of its empty database. */
  readonly url: string
  /** Runs SQL on a connection of its own. */
  query(text: string): Promise<pg.QueryResult>
  /** Deletes the records of the ledger of an event log, if it has one. Its tables stay. */
  emptyLedger(logId: string): Promise<void>
  /** Kills the server, as a crash would. */
  kill(): Promise<void>
  /** Starts the server again with the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server, or skips the suite if PostgreSQL is not installed; fails instead if CI is set. */
export async function requirePostgres(context: Context): Promise<RunningPostgres> {
  return (await startPostgres()) ?? skip(context, 'PostgreSQL is not installed')
}

/** Undefined if PostgreSQL is not installed. Throws if CI is set: nothing may be skipped there. */
export async function startPostgres(): Promise<RunningPostgres | undefined> {
  const programs = findPrograms()
  if (programs === undefined) {
    if (process.env.CI) throw new Error('PostgreSQL is not installed, and is required in CI')
    return undefined
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), 'signalbox-postgres-'))
  const owner = await serverUser()
  if (owner) await chown(folder, owner.uid, owner.gid)
  const data = path.join(folder, 'data')
  const options = { ...owner, cwd: folder }
  await promisify(execFile)(
    path.join(programs, 'initdb'),
    ['-D', data, '-U', 'signalbox', '--auth=trust', '--no-sync', '--locale=C', '-E', 'UTF8'],
    options,
  )
  const url = `postgres://signalbox@/postgres?host=${encodeURIComponent(folder)}`
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    'fsync=off',
    'max_connections=40',
  ]
  const spawnServer = async () => {
    const server = spawn(
      path.join(programs, 'postgres'),
      ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
      { ...options, stdio: 'ignore' },
    )
    await waitUntil(() => canConnect(url))
    return server
  }
  let server = await spawnServer()
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const endAtExit = () => {
    // Immediate shutdown, which ends the server's own processes, too.
    server.kill('SIGQUIT')
    remove()
  }
  process.once('exit', endAtExit)
  const kill = async () => {
    const exited = once(server, 'exit')
    server.kill('SIGQUIT')
    await exited
  }
  return {
    url,
    query: (text) => queryOnce(url, text),
    async emptyLedger(logId) {
      const { rows } = await queryOnce(url, `${LEDGER_TABLES} and schemaname = '${logId}'`)
      if (rows[0].tables !== null) await queryOnce(url, `truncate ${rows[0].tables} restart identity`)
    },
    kill,
    async restart() {
      server = await spawnServer()
    },
    async stop() {
      process.off('exit', endAtExit)
      if (server.exitCode === null && server.signalCode === null) await kill()
      remove()
    },
  }
}

const LEDGER_TABLES =
  "select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables " +
  "where tablename not like 'kysely%'"

/** The folder of Debian's newest PostgreSQL, which is not in the path, or of the one that is. */
function findPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map((version) => `${debian}/${version}/bin`), ...PATH_FOLDERS]
  return folders.find((folder) => existsSync(path.join(folder, 'initdb')))
}

const PATH_FOLDERS = (process.env.PATH ?? '').split(path.delimiter)

/** The server refuses to run as root. */
async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const ids = await Promise.all(['-u', '-g'].map((flag) => promisify(execFile)('id', [flag, 'postgres'])))
  const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout))
  return { uid, gid }
}

function canConnect(url: string): Promise<boolean> {
  return queryOnce(url, 'select 1').then(
    () => true,
    () => false,
  )
}

async function queryOnce(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query(text)
  } finally {
    await client.end().catch(() => undefined)
  }
}
