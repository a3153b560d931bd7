import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceError } from '@grpc/grpc-js'
import { createHold } from '../hold.ts'
import { type ServerError, toServiceError } from './errors.ts'

export type CallKind = 'append' | 'delete' | 'read' | 'gossip' | 'features'

export interface Faults {
  /** Delays every further call, in milliseconds. */
  delay(milliseconds: number): void
  /** Delays every further call until the function that it returns is called. */
  hold(): () => void
  /** Calls that are delayed now. */
  delayedCalls(): number
  /** Executes the next `count` appends, but breaks the connections instead of responding. */
  loseResponses(count: number): void
  /** Fails every further call of some kinds, or of any kind, until `accept` is called. */
  refuse(error: ServerError, details?: Readonly<Record<string, string>>, kinds?: readonly CallKind[]): void
  accept(): void
}

export interface InjectedFaults extends Faults {
  /** Delays a call, or throws. */
  beforeCall(kind: CallKind): Promise<void>
  /** Resolves when a call may go on; undefined if it is not delayed. */
  delayed(): Promise<void> | undefined
  /** Throws if calls of this kind are refused. */
  checkRefused(kind: CallKind): void
  /** Whether the response to an append that was executed is to be lost. */
  losesResponse(): boolean
}

export function createFaults(): InjectedFaults {
  let delayMs = 0
  let held: Promise<void> | undefined
  let delayedCalls = 0
  let responsesToLose = 0
  let refused: { error: Partial<ServiceError>; kinds: readonly CallKind[] | undefined } | undefined
  async function waitForDelay(delay: Promise<void>): Promise<void> {
    delayedCalls += 1
    await delay
    delayedCalls -= 1
  }
  const delayed = () => {
    const delay = held ?? (delayMs > 0 ? sleep(delayMs, undefined, { ref: false }) : undefined)
    return delay && waitForDelay(delay)
  }
  const checkRefused = (kind: CallKind) => {
    if (refused && (refused.kinds?.includes(kind) ?? true)) throw refused.error
  }
  return {
    delayed,
    checkRefused,
    delay(milliseconds) {
      delayMs = milliseconds
    },
    hold() {
      const { released, release } = createHold()
      held = released
      return () => {
        held = undefined
        release()
      }
    },
    delayedCalls: () => delayedCalls,
    loseResponses(count) {
      responsesToLose = count
    },
    refuse(error, details, kinds) {
      refused = { error: toServiceError(error, details), kinds }
    },
    accept() {
      refused = undefined
    },
    async beforeCall(kind) {
      await delayed()
      checkRefused(kind)
    },
    losesResponse() {
      if (responsesToLose === 0) return false
      responsesToLose -= 1
      return true
    },
  }
}
