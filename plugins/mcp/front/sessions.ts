import { hash, randomBytes } from 'node:crypto'
import {
  type Account,
  type JsonObject,
  type RecordStore,
  SharedStateUnavailableError,
} from '../../../core/contract/index.ts'
import { createBoundedCache } from '../../../core/util/bounded-cache.ts'
import { mcpError } from '../errors.ts'
import type { SessionSlot, UpstreamSession } from '../upstream/upstream.ts'

/** The session of a client that began with `initialize`. All processes know it. */
export interface ClientSession {
  /** A digest of the id that the client has. */
  readonly key: string
  readonly revision: string
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  readonly logLevel: string | undefined
}

interface StoredSession extends Omit<ClientSession, 'key' | 'clientInfo' | 'logLevel'> {
  readonly owner: string
  readonly endpoint: string
  readonly clientInfo?: JsonObject
  readonly logLevel?: string
  /** When it was stored, as a Unix time in milliseconds. */
  readonly storedAt: number
}

interface ReadServers {
  readonly names: ReadonlySet<string>
  readonly storedAt: number
}

const NO_NAMES: ReadonlySet<string> = new Set()
const MAX_READ_SESSIONS = 10_000

/** A session that was not used for so long has ended. */
const IDLE_S = 3600

/** A session in use is stored again after so long. */
const REFRESH_MS = 5 * 60_000

/** Wraps a store so that its failures are `mcp_state_unavailable`. */
export function withClearErrors(store: RecordStore): RecordStore {
  const fail = (error: unknown) => {
    if (!SharedStateUnavailableError.isInstance(error)) throw error
    const message =
      'The state of sessions is unavailable. A call may or may not have been made: check before you retry.'
    throw mcpError('mcp_state_unavailable', message, { cause: error, retryAfter: 1 })
  }
  return {
    get: (key) => store.get(key).catch(fail),
    set: (key, value, seconds) => store.set(key, value, seconds).catch(fail),
    delete: (key) => store.delete(key).catch(fail),
    addToSet: (key, texts, seconds) => store.addToSet(key, texts, seconds).catch(fail),
    readSet: (key) => store.readSet(key).catch(fail),
  }
}

/**
 * Sessions in the store that all processes share. See docs/decisions/mcp.md, "A session belongs to its
 * caller and its endpoint".
 */
export function createSessions(store: RecordStore) {
  const recordOf = (key: string) => `session:${key}`

  async function read(account: Account, endpoint: string, id: string) {
    const key = digest(id)
    const stored = (await store.get(recordOf(key))) as StoredSession | undefined
    if (stored?.owner === ownerOf(account) && stored.endpoint === endpoint) return { key, stored }
    const message = 'The session has ended, or is not yours. Begin again with initialize.'
    throw mcpError('mcp_session_not_found', message)
  }

  async function save(key: string, session: Omit<StoredSession, 'storedAt'>): Promise<void> {
    await store.set(recordOf(key), { ...session, storedAt: Date.now() } as unknown as JsonObject, IDLE_S)
  }

  /**
   * What this process has stored: the store may have lost it. See docs/decisions/mcp.md, "What a session has
   * read is a set that is never dropped".
   */
  const reads = createBoundedCache<string, ReadServers>(MAX_READ_SESSIONS)

  function knownReads(key: string): ReadServers | undefined {
    const known = reads.get(key)
    return known !== undefined && Date.now() - known.storedAt < IDLE_S * 1000 ? known : undefined
  }

  async function addReads(key: string, added: Iterable<string>): Promise<ReadonlySet<string>> {
    const stored = await store.addToSet(`read:${key}`, [...added], IDLE_S)
    const names = new Set([...stored, ...(knownReads(key)?.names ?? NO_NAMES)])
    reads.set(key, { names, storedAt: Date.now() })
    return names
  }

  /** Stores it again while the session is in use. */
  async function loadReads(key: string): Promise<ReadonlySet<string>> {
    const stored = await store.readSet(`read:${key}`)
    const known = knownReads(key)
    const names = new Set([...stored, ...(known?.names ?? NO_NAMES)])
    const isStored = stored.length === names.size && known !== undefined && isFresh(known)
    return names.size === 0 || isStored ? names : addReads(key, names)
  }

  async function noteRead(key: string, server: string): Promise<void> {
    const known = knownReads(key)
    if (known?.names.has(server) && isFresh(known)) return
    await addReads(key, [server])
  }

  return {
    /** Returns the id of a new session. */
    async open(
      account: Account,
      endpoint: string,
      session: Omit<StoredSession, 'owner' | 'endpoint' | 'storedAt'>,
    ): Promise<string> {
      const id = randomBytes(32).toString('base64url')
      await save(digest(id), { ...session, owner: ownerOf(account), endpoint })
      return id
    },
    /** Rejects with `mcp_session_not_found` also for the session of another caller. */
    async find(account: Account, endpoint: string, id: string): Promise<ClientSession> {
      const { key, stored } = await read(account, endpoint, id)
      if (Date.now() - stored.storedAt > REFRESH_MS) await save(key, stored)
      const { revision, capabilities, clientInfo, logLevel } = stored
      return { key, revision, capabilities, clientInfo, logLevel }
    },
    async setLogLevel(account: Account, endpoint: string, id: string, logLevel: string): Promise<void> {
      const { key, stored } = await read(account, endpoint, id)
      await save(key, { ...stored, logLevel })
    },
    /** Returns the key of the session that has ended. */
    async end(account: Account, endpoint: string, id: string): Promise<string> {
      const { key } = await read(account, endpoint, id)
      await store.delete(recordOf(key))
      return key
    },
    /** The session at a server that belongs to the session of a client, for all processes. */
    slotOf(session: Pick<ClientSession, 'key'>, server: string, capabilities: JsonObject): SessionSlot {
      const record = `upstream:${session.key}:${server}`
      return {
        key: session.key,
        capabilities,
        shared: {
          load: async () => (await store.get(record)) as UpstreamSession | undefined,
          // Another process may have opened the next one.
          async forget({ id }) {
            const stored = (await store.get(record)) as UpstreamSession | undefined
            if (stored?.id === id) await store.delete(record)
          },
          save: (opened) => store.set(record, opened as unknown as JsonObject, IDLE_S),
        },
      }
    },
    /** Servers whose results these sessions have read. */
    async readOf(keys: readonly string[]): Promise<ReadonlySet<string>> {
      const [first = NO_NAMES, ...others] = await Promise.all(keys.map(loadReads))
      return others.length === 0 ? first : new Set([...first, ...others.flatMap((names) => [...names])])
    },
    async noteRead(keys: readonly string[], server: string): Promise<void> {
      await Promise.all(keys.map((key) => noteRead(key, server)))
    },
  }
}

export type Sessions = ReturnType<typeof createSessions>

/** Whose a session is: of one key, or of one subject of an identity provider. */
export function ownerOf({ userId, keyId, identity }: Account): string {
  return `${userId}:${identity === undefined ? keyId : `${identity.issuer}#${identity.subject}`}`
}

function isFresh({ storedAt }: ReadServers): boolean {
  return Date.now() - storedAt < REFRESH_MS
}

export function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
