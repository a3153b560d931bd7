import type { Logger } from 'pino'
import { reportSetAside, type SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import { connectThread, type RpcThread, startThread } from '../../../core/threads/thread.ts'
import { withTimeout } from '../../../core/threads/timeout.ts'
import {
  createLedgerCalls,
  type ForeignFile,
  LEDGER_METHODS,
  type Ledger,
  type LedgerMethod,
  type LedgerOptions,
  type LedgerOwnerMethods,
  type LedgerThreadMethods,
  OPEN_TIMEOUT_MS,
} from './methods.ts'

/** See `LEDGER_METHODS`. */
type Role = 'writer' | 'reader'

/** When it ends, other ledgers that it serves are opened again in another one. */
type LedgerThread = RpcThread<LedgerThreadMethods>

/** The ledgers of a process share their threads, which load the database code once. */
const threads = new Map<Role, LedgerThread>()

/** Receive the files of their ledgers that were moved out of the way. */
const owners = new Map<number, (file: SetAsideFile | ForeignFile) => void>()
let lastOwner = 0

function threadFor(role: Role): LedgerThread {
  const running = threads.get(role)
  if (running?.isAlive()) return running
  const started = startLedgerThread(role)
  threads.set(role, started)
  return started
}

function startLedgerThread(role: Role): LedgerThread {
  const worker = startThread('./worker', import.meta.url, {
    name: `ledger-${role}`,
    // Batches are short-lived; a large young generation would only keep memory.
    resourceLimits: { maxYoungGenerationSizeMb: 6 },
  })
  return connectThread<LedgerThreadMethods, LedgerOwnerMethods>(worker, {
    movedFile({ owner, file }) {
      owners.get(owner)?.(file)
      return {}
    },
  })
}

/** A ledger that is open in a thread. */
interface Opened {
  readonly thread: LedgerThread
  readonly ledger: Promise<number>
}

/** The thread starts when the gateway has, so that it does not delay the start nor the first refusal. */
const START_DELAY_MS = 100

/** Opens the ledger when it is first used, and again after its thread ended or it could not be opened. */
export function createThreadLedger(options: LedgerOptions, logger: Logger): Ledger {
  const opened = new Map<Role, Opened>()
  const owner = ++lastOwner
  owners.set(owner, (file) => {
    if ('reason' in file) reportSetAside(logger, file)
    else logger.warn({ file: file.movedTo }, 'the request ledger belonged to another event log; set aside')
  })
  let isClosed = false
  const startTimer = setTimeout(() => threadFor('writer'), START_DELAY_MS).unref()

  function open(role: Role): Opened {
    const current = opened.get(role)
    if (current?.thread.isAlive()) return current
    const thread = threadFor(role)
    const ledger = openIn(thread, role === 'writer')
    const started = { thread, ledger }
    opened.set(role, started)
    ledger.catch(() => {
      if (opened.get(role) === started) opened.delete(role)
    })
    return started
  }

  async function openIn({ peer }: LedgerThread, isWriter: boolean): Promise<number> {
    // The writer creates the file and its tables.
    if (!isWriter) await open('writer').ledger
    return (await peer.request('open', { ...options, isWriter, owner }, OPEN_TIMEOUT_MS)).ledger
  }

  async function call(method: LedgerMethod, params: unknown, timeoutMs: number): Promise<unknown> {
    if (isClosed) throw new Error('the ledger is closed')
    const isRead = LEDGER_METHODS[method].thread === 'reader' && options.location.engine === 'sqlite'
    const { thread, ledger } = open(isRead ? 'reader' : 'writer')
    const number = await whenOpen(ledger, timeoutMs)
    return thread.peer.request('call', { ledger: number, method, params }, timeoutMs)
  }

  return {
    ...createLedgerCalls(call),
    async close() {
      isClosed = true
      clearTimeout(startTimer)
      // The reader first: the last connection that closes cleans up the file.
      for (const { thread, ledger } of [...opened.values()].toReversed()) {
        const close = async () => {
          const params = { ledger: await whenOpen(ledger, CLOSE_TIMEOUT_MS) }
          return thread.peer.request('close', params, CLOSE_TIMEOUT_MS)
        }
        // A ledger that is away is left as it is. One that is being changed changes at the next start.
        await close().catch((error: unknown) => {
          if (error instanceof StillOpeningError) void thread.terminate()
        })
      }
      owners.delete(owner)
    },
  }
}

function whenOpen(ledger: Promise<number>, timeoutMs: number): Promise<number> {
  return withTimeout(ledger, timeoutMs, () => new StillOpeningError())
}

class StillOpeningError extends Error {
  constructor() {
    super('the ledger is still being opened')
  }
}

const CLOSE_TIMEOUT_MS = 5000
