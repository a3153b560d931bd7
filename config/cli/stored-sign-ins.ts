import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { isJsonObject } from '../../core/contract/index.ts'
import type { Environment } from '../settings/environment.ts'

/** What `signalbox login` keeps of a gateway. */
export interface StoredSignIn {
  readonly access_token: string
  readonly refresh_token?: string
  /** Unix time in milliseconds. */
  readonly expires_at: number
}

/** The tokens of a person for gateways, by address, in a file that nobody else may read. */
export interface StoredSignIns {
  readonly file: string
  find(url: string): StoredSignIn | undefined
  /** Replaces what is kept for an address; undefined removes it. */
  put(url: string, signIn: StoredSignIn | undefined): void
}

/** `https://gw.example.com/base`, whatever slashes end it. Throws a `TypeError` for what is no URL. */
export function normalizeUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/+$/, '')
}

export function openStoredSignIns({ XDG_CONFIG_HOME, HOME }: Environment): StoredSignIns {
  const folder = XDG_CONFIG_HOME || join(HOME || homedir(), '.config')
  const file = join(folder, 'signalbox', 'sign-ins.json')

  function read(): Record<string, StoredSignIn> {
    try {
      const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
      // The cast is safe: only this program writes the file.
      return isJsonObject(content) ? (content as unknown as Record<string, StoredSignIn>) : {}
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
      throw new Error(`${file} cannot be read. Delete it and sign in again.`, { cause: error })
    }
  }

  return {
    file,
    find(url) {
      const all = read()
      const key = normalizeUrl(url)
      return Object.hasOwn(all, key) ? all[key] : undefined
    },
    put(url, signIn) {
      const { [normalizeUrl(url)]: _, ...others } = read()
      const all = signIn === undefined ? others : { ...others, [normalizeUrl(url)]: signIn }
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      // Readers see the former file or this one, whole.
      const unfinished = `${file}.${randomUUID()}.tmp`
      writeFileSync(unfinished, `${JSON.stringify(all, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
      try {
        renameSync(unfinished, file)
      } catch (error) {
        rmSync(unfinished, { force: true })
        throw error
      }
    },
  }
}
