import { SqliteDatabase } from './database.ts'
import type { AppendRequest, AppendResult } from './worker-protocol.ts'

interface PendingAppend {
  readonly request: AppendRequest
  resolve(result: AppendResult): void
  reject(error: unknown): void
}

/** Commits appends that arrive together in one transaction. `append` throws SQLite errors. */
export class AppendQueue {
  readonly #append: (requests: readonly AppendRequest[]) => readonly AppendResult[]
  #pending: PendingAppend[] = []

  constructor(append: (requests: readonly AppendRequest[]) => readonly AppendResult[]) {
    this.#append = append
  }

  add(request: AppendRequest): Promise<AppendResult> {
    // Deferred, so that messages that have already arrived join the same commit.
    if (this.#pending.length === 0) setImmediate(() => this.commit())
    return new Promise((resolve, reject) => this.#pending.push({ request, resolve, reject }))
  }

  commit(): void {
    const appends = this.#pending
    this.#pending = []
    if (appends.length > 0) this.#commitAll(appends)
  }

  #commitAll(appends: readonly PendingAppend[]): void {
    try {
      const results = this.#append(appends.map(({ request }) => request))
      for (const [index, result] of results.entries()) appends[index]?.resolve(result)
    } catch (error) {
      // An append that is too large for the remaining space must not fail the others in its batch. A lock
      // held by another process fails them all, so they are not retried one by one.
      if (appends.length === 1 || isBusy(error)) for (const { reject } of appends) reject(error)
      else for (const append of appends) this.#commitAll([append])
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
