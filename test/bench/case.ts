import type { ServerName } from './servers.ts'

/** A scenario that is measured on several servers in turn. */
export interface Case {
  readonly id: string
  readonly title: string
  readonly connections: number
  /** The label of the baseline. */
  readonly base: string
  readonly cells: readonly Cell[]
  /** The labels that `--quick` measures. Default: none. */
  readonly quick?: readonly string[]
  /** Share of the measuring time, relative to other cases. Default: 1. */
  readonly weight?: number
  /**
   * How often each server is measured per round. Default: 1. More for ratios that a goal depends on.
   */
  readonly turns?: number
  readonly spreadMs?: number
  /** Limits the warm-up, for requests that accumulate state. */
  readonly warmUpSeconds?: number
  /** Raised if only this case warms up a server. */
  readonly warmUpConnections?: number
  /** Uncounted load before each measurement. Raised if a server of this case is idle in all others. */
  readonly runUpSeconds?: number
}

export interface Cell {
  readonly label: string
  readonly server: ServerName
  readonly path: string
  readonly body: string
  /** True if the response is valid. */
  readonly isSound: (text: string) => boolean
}

/** The chat endpoint of the gateways. */
export const CHAT = '/v1/chat/completions'

/** Returns the body of a chat completion request. */
export const ask = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }], ...more })
