import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from 'mocha'
import { findPort } from './redis.ts'
import { ROOT } from './root.ts'
import { skip } from './skip.ts'
import { waitUntil } from './wait.ts'

/** Where `.ci/keycloak` puts it. */
const HOME = process.env.KEYCLOAK_HOME ?? fileURLToPath(new URL('node_modules/.cache/keycloak', ROOT))

/** A real Keycloak with the realm `acme` of test/fixtures/keycloak. */
export interface RunningKeycloak {
  readonly issuer: string
  /** A token of the client `batch`, which is a service account in the group operations. */
  serviceToken(): Promise<string>
  /** A token of a person, by the password. */
  userToken(name: 'grace' | 'alan'): Promise<string>
  stop(): Promise<void>
}

/** Starts Keycloak, or skips the suite if it was not fetched; fails instead if CI is set. */
export async function requireKeycloak(context: Context): Promise<RunningKeycloak> {
  if (existsSync(path.join(HOME, 'bin/kc.sh'))) return startKeycloak()
  if (process.env.CI) throw new Error('Keycloak was not fetched by .ci/keycloak, and is required in CI')
  return skip(context, 'Keycloak was not fetched: run .ci/keycloak, which needs Java 17 and Maven')
}

async function startKeycloak(): Promise<RunningKeycloak> {
  const port = await findPort()
  const realm = fileURLToPath(new URL('test/fixtures/keycloak/acme-realm.json', ROOT))
  await mkdir(path.join(HOME, 'data/import'), { recursive: true })
  await cp(realm, path.join(HOME, 'data/import/acme-realm.json'))
  const options = ['--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`]
  const server = spawn(
    path.join(HOME, 'bin/kc.sh'),
    ['start', '--optimized', '--hostname-strict=false', '--import-realm', ...options],
    { stdio: 'ignore', detached: true },
  )
  const endAtExit = () => kill(server)
  process.once('exit', endAtExit)
  const issuer = `http://127.0.0.1:${port}/realms/acme`
  const isReady = () =>
    fetch(issuer).then(
      ({ ok }) => ok,
      () => server.exitCode !== null,
    )
  await waitUntil(isReady)
  if (server.exitCode !== null) throw new Error(`Keycloak ended with ${server.exitCode} while it started`)

  const requestToken = (fields: Record<string, string>) => fetchToken(issuer, fields)
  return {
    issuer,
    serviceToken: () =>
      requestToken({
        grant_type: 'client_credentials',
        client_id: 'batch',
        client_secret: 'a-secret-of-the-batch',
      }),
    userToken: (name) =>
      requestToken({
        grant_type: 'password',
        client_id: 'signalbox',
        client_secret: 'a-secret-of-the-console',
        username: name,
        password: `${name}-password`,
      }),
    async stop() {
      process.off('exit', endAtExit)
      const exited = once(server, 'exit')
      kill(server)
      await exited
    },
  }
}

/** The script and the Java program that it starts. */
function kill({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL')
}

async function fetchToken(issuer: string, fields: Record<string, string>): Promise<string> {
  const body = new URLSearchParams(fields)
  const response = await fetch(`${issuer}/protocol/openid-connect/token`, { method: 'POST', body })
  const answer = (await response.json()) as { access_token?: string }
  if (answer.access_token === undefined) throw new Error(JSON.stringify(answer))
  return answer.access_token
}
