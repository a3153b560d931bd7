import { closeSync, mkdirSync, openSync, renameSync } from 'node:fs'
import path from 'node:path'
import type { SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import { identifyFile } from '../../../core/event-log/sqlite/file-guard.ts'
import { isDamageError, setAside } from '../../../core/event-log/sqlite/set-aside.ts'
import { ForeignLedgerError } from './database.ts'
import type { OpenLedgerParams } from './methods.ts'
import { createPromptCipher } from './prompt-cipher.ts'
import { type LedgerStore, openLedgerStore } from './store.ts'

interface LedgerEvents {
  /** The file belonged to another event log. */
  onForeign(movedTo: string): void
  /** The file was damaged. */
  onSetAside(file: SetAsideFile): void
}

interface OpenedStore {
  readonly store: LedgerStore
  /** Of the file, if there is one. */
  readonly identity: string | undefined
}

/**
 * A ledger that this thread keeps open. A damaged file is set aside, and an empty one takes its place; so
 * does one if another thread or process has set the file aside, or if it was removed.
 */
export class ServedLedger {
  readonly #options: OpenLedgerParams
  readonly #file: string | undefined
  readonly #events: LedgerEvents
  #opened: Promise<OpenedStore>

  constructor(options: OpenLedgerParams, events: LedgerEvents) {
    const { location } = options
    this.#options = options
    this.#file = location.engine === 'sqlite' ? location.file : undefined
    this.#events = events
    this.#opened = this.#open()
    this.#opened.catch(() => undefined)
  }

  /** Resolves when the ledger is open; rejects if it cannot be opened. */
  async opened(): Promise<void> {
    await this.#opened
  }

  /** Calls the store, and once more if the file was damaged or is no longer the one that is open. */
  async run<Result>(call: (store: LedgerStore) => Promise<Result>): Promise<Result> {
    const opening = this.#opened
    const opened = await opening.catch(() => undefined)
    if (opened === undefined || opened.identity !== this.#identify()) return call(await this.#reopen(opening))
    try {
      return await call(opened.store)
    } catch (error) {
      if (this.#opened === opening && !isDamageError(error)) throw error
      if (isDamageError(error)) this.#setAside(opened.identity, error)
      return call(await this.#reopen(opening))
    }
  }

  async close(): Promise<void> {
    const { store } = await this.#opened
    await store.close()
  }

  /** Calls at the same time that meet the same damage share the store that takes its place. */
  async #reopen(failed: Promise<OpenedStore>): Promise<LedgerStore> {
    if (this.#opened === failed) {
      this.#opened = failed.then(
        async ({ store }) => {
          await store.close().catch(() => undefined)
          return this.#open()
        },
        () => this.#open(),
      )
      this.#opened.catch(() => undefined)
    }
    return (await this.#opened).store
  }

  async #open(): Promise<OpenedStore> {
    const { isWriter } = this.#options
    if (this.#file === undefined) return this.#openStore(isWriter)
    if (isWriter) prepareFile(this.#file)
    const identity = this.#identify()
    try {
      return await this.#openStore(isWriter)
    } catch (error) {
      if (error instanceof ForeignLedgerError) this.#events.onForeign(renameForeign(this.#file, error.logId))
      else if (isDamageError(error)) this.#setAside(identity, error)
      // A reader creates the tables of an empty file as well, before the writer meets the same damage.
      else if (isWriter || identity !== undefined) throw error
      prepareFile(this.#file)
      return this.#openStore(true)
    }
  }

  async #openStore(isWriter: boolean): Promise<OpenedStore> {
    const { location, logId, keys } = this.#options
    const store = await openLedgerStore(location, logId, { isWriter, cipher: createPromptCipher(keys) })
    return { store, identity: this.#identify() }
  }

  #setAside(identity: string | undefined, { message }: Error): void {
    const moved = this.#file === undefined ? undefined : setAside(this.#file, identity, message)
    if (moved !== undefined) this.#events.onSetAside(moved)
  }

  #identify(): string | undefined {
    return this.#file === undefined ? undefined : identifyFile(this.#file)
  }
}

/** Only the gateway's own user may read who sent which requests. */
function prepareFile(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'a', 0o600))
}

/** See docs/decisions/ledger.md, "The ledger of another event log is not mixed in". */
function renameForeign(file: string, logId: string): string {
  const { dir, name, ext } = path.parse(file)
  const target = path.join(dir, `${name}-${logId}${ext}`)
  // The closed database has no write-ahead log.
  renameSync(file, target)
  return target
}
