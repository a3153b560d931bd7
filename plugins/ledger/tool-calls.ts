import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { errorMessage } from '../../core/util/error-message.ts'
import { createCounter } from '../../core/util/metrics.ts'
import type { LedgerCalls } from './store/methods.ts'
import type { NewToolCall } from './store/tool-calls.ts'

/** The arguments of a call in JSON. They are recorded if prompts are. */
export interface CalledArguments {
  readonly received: string
  /** As the firewall left them. Undefined if it did not let them pass. */
  readonly sent: string | undefined
}

/** How long a call waits for others. */
const BATCH_MS = 1000

const MAX_BATCH = 500

/** Calls that are queued while the ledger is unavailable. Beyond it, new ones are counted as dropped. */
const MAX_WAITING = 10_000

const RETRY_MS = 5000

/** Writes records of tool calls in batches. Retries while the ledger is unavailable; calls are queued. */
export class ToolCallWriter {
  readonly #ledger: Pick<LedgerCalls, 'saveToolCalls'>
  readonly #logger: Logger
  readonly #count: (outcome: 'recorded' | 'dropped', calls: number) => void
  #waiting: NewToolCall[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(ledger: Pick<LedgerCalls, 'saveToolCalls'>, logger: Logger, metrics: Registry) {
    const counter = createCounter(metrics, {
      name: 'signalbox_ledger_tool_calls_total',
      help: 'Calls of tools by whether they were recorded: recorded, or dropped (the ledger was away).',
      labelNames: ['outcome'],
    })
    const [recorded, dropped] = [counter('recorded'), counter('dropped')]
    this.#ledger = ledger
    this.#logger = logger
    this.#count = (outcome, calls) => (outcome === 'recorded' ? recorded : dropped).inc(calls)
  }

  add(call: NewToolCall): void {
    if (this.#waiting.length >= MAX_WAITING) this.#count('dropped', 1)
    else this.#waiting.push(call)
    if (this.#waiting.length >= MAX_BATCH) void this.flush()
    else this.#wait(BATCH_MS)
  }

  /** Writes the queued calls. Resolves with false if the ledger is unavailable. */
  flush(): Promise<boolean> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeAll())
    return this.#writing
  }

  /** Calls that cannot be written are lost. */
  async close(): Promise<void> {
    if (!(await this.flush())) this.#count('dropped', this.#waiting.length)
    clearTimeout(this.#timer)
  }

  #wait(ms: number): void {
    this.#timer ??= setTimeout(() => void this.flush(), ms).unref()
  }

  async #writeAll(): Promise<boolean> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH)
      try {
        await this.#ledger.saveToolCalls(batch)
      } catch (error) {
        this.#logger.warn({ reason: errorMessage(error) }, 'tool calls not recorded; retrying')
        this.#wait(RETRY_MS)
        return false
      }
      this.#waiting = this.#waiting.slice(batch.length)
      this.#count('recorded', batch.length)
    }
    return true
  }
}
