import { unwatchFile, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { untilAborted } from '../../core/threads/timeout.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { RenewableCredentials } from '../shared/renew-credentials.ts'

/** A value of limited validity, such as a token. Times are those of `Date.now()`. */
export interface Expiring<Value> {
  readonly value: Value
  /** Undefined: it does not expire. */
  readonly expiresAt: number | undefined
  /** When to fetch the next one. Default: five minutes before the end, or a quarter of the lifetime. */
  readonly refreshAt?: number | undefined
}

/** A credential that is fetched once for all requests of the process, and again ahead of its expiry. */
export interface ShortLived<Value> extends RenewableCredentials {
  /**
   * Returns the current value, or a promise of the first one or of the one after an expired one. Rejects if
   * fetching fails, or with the reason of `signal`, which aborts the waiting but not the fetching.
   */
  get(signal?: AbortSignal): MaybePromise<Value>
  /** Fetches in the background, so that the first request need not wait. */
  start(): void
  /** Fetches anew in the background, as when a file has changed. The present value stays until then. */
  renew(): void
  /** Stops fetching in the background. */
  close(): void
}

/** A failed fetch is repeated after this time. Until then, requests that need a value fail with its error. */
const RETRY_MS = 1000
const MAX_RETRY_MS = 30_000
/** A provider of credentials that does not respond may not block all requests. */
const FETCH_TIMEOUT_MS = 30_000
const AHEAD_MS = 5 * 60_000
/** The library of Azure returns the same credential again until five minutes before its expiry. */
export const LIBRARY_AHEAD_MS = 4.5 * 60_000
/** Sources with a cache of their own may return the same value again shortly before it expires. */
const MIN_INTERVAL_MS = 1000
const SAME_VALUE_INTERVAL_MS = 30_000
/** Polling also notices the replaced symbolic links of Kubernetes. */
const WATCH_INTERVAL_MS = 1000
/** The longest timer that Node has. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Who refuses each new value has another reason. */
const REFUSED_INTERVAL_MS = 30_000

/**
 * `fetchValue` should end when its signal aborts, after 30 seconds or with `close`. With `isFresh`, it
 * may not return what a cache of its own has.
 */
export function createShortLived<Value>(
  fetchValue: (signal: AbortSignal, isFresh: boolean) => Promise<Expiring<Value>>,
): ShortLived<Value> {
  let current: Expiring<Value> | undefined
  let pending: Promise<Value> | undefined
  let failure: { readonly error: unknown; readonly until: number } | undefined
  let failures = 0
  let version = 0
  let refusedUntil = 0
  let timer: NodeJS.Timeout | undefined
  const closing = new AbortController()

  function isValid({ expiresAt }: Expiring<Value>): boolean {
    return expiresAt === undefined || Date.now() < expiresAt
  }

  /** All who need a value share one fetch. */
  function fetchOnce(isFresh = false): Promise<Value> {
    if (pending !== undefined) return pending
    clearTimeout(timer)
    const started = fetchAndSchedule(isFresh)
    pending = started
    const settle = () => {
      pending = undefined
    }
    started.then(settle, settle)
    return started
  }

  async function fetchAndSchedule(isFresh: boolean): Promise<Value> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)])
    try {
      const fetched = await untilAborted(fetchValue(signal, isFresh), signal)
      if (!isDeepStrictEqual(fetched.value, current?.value)) version += 1
      current = fetched
      failure = undefined
      failures = 0
      if (fetched.expiresAt !== undefined) schedule(delayBeforeRefresh(fetched, Date.now()))
      return fetched.value
    } catch (error) {
      failure = { error, until: Date.now() + RETRY_MS }
      schedule(Math.min(RETRY_MS * 2 ** failures, MAX_RETRY_MS))
      failures += 1
      throw error
    }
  }

  function schedule(delayMs: number): void {
    if (closing.signal.aborted) return
    timer = setTimeout(() => fetchInBackground(), Math.min(delayMs, MAX_TIMER_MS))
    timer.unref()
  }

  /** A request that needs the value gets the error. */
  function fetchInBackground(isFresh?: boolean): void {
    if (!closing.signal.aborted) fetchOnce(isFresh).catch(() => undefined)
  }

  const fetchFresh = () => fetchInBackground(true)

  return {
    get(signal) {
      if (current !== undefined && isValid(current)) return current.value
      if (failure !== undefined && pending === undefined && Date.now() < failure.until)
        return Promise.reject(failure.error)
      return untilAborted(fetchOnce(), signal)
    },
    start: () => fetchInBackground(),
    renew() {
      const fetching = pending
      // What is being fetched may be of the time before the change.
      if (fetching === undefined) fetchFresh()
      else fetching.then(fetchFresh, fetchFresh)
    },
    get version() {
      return version
    },
    async renewRefused(refused, signal) {
      if (version === refused && pending === undefined) {
        if (Date.now() < refusedUntil) return false
        refusedUntil = Date.now() + REFUSED_INTERVAL_MS
        fetchOnce(true)
      }
      if (version === refused) await untilAborted(Promise.allSettled([pending]), signal)
      return version !== refused
    },
    close() {
      clearTimeout(timer)
      closing.abort()
    },
  }
}

function delayBeforeRefresh({ expiresAt = 0, refreshAt }: Expiring<unknown>, now: number): number {
  const remaining = expiresAt - now
  const wanted = refreshAt === undefined ? remaining - Math.min(AHEAD_MS, remaining / 4) : refreshAt - now
  return Math.max(wanted, Math.min(SAME_VALUE_INTERVAL_MS, remaining / 2), MIN_INTERVAL_MS)
}

/** Renews a credential, until it is closed, when the file that it comes from changes. */
export function renewOnChange<Value>(credential: ShortLived<Value>, file: string): ShortLived<Value> {
  const { close, renew } = credential
  const onChange = () => renew()
  watchFile(file, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange)
  return Object.assign(credential, {
    close() {
      unwatchFile(file, onChange)
      close()
    },
  })
}
