import type { ServerName } from './servers.ts'

/** One thing that is measured at several servers by turns. */
export interface Case {
  readonly id: string
  readonly title: string
  readonly connections: number
  /** The label that the others are held against. */
  readonly base: string
  readonly cells: readonly Cell[]
  /** The labels that `--quick` measures; none when left out. */
  readonly quick?: readonly string[]
  /** How much longer than others it is measured. */
  readonly weight?: number
  /**
   * How many times in a round its servers take their turns; once when left out. For ratios that a goal hangs
   * on.
   */
  readonly turns?: number
  readonly spreadMs?: number
  /** At most, where what is done adds up. */
  readonly warmUpSeconds?: number
  /** More than usual where a server has this case alone to get warm by. */
  readonly warmUpConnections?: number
}

export interface Cell {
  readonly label: string
  readonly server: ServerName
  readonly path: string
  readonly body: string
  /** Whether an answer is sound. */
  readonly isSound: (text: string) => boolean
}

/** Where the gateways take chats. */
export const CHAT = '/v1/chat/completions'

/** The body of a chat. */
export const ask = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }], ...more })
