import type { OperatorRole } from '../contract/index.ts'

/** Changes to operators, all in one stream. Keys are stored as SHA-256 only. */
export type OperatorEvent =
  | {
      type: 'OperatorCreated'
      data: { operatorId: string; name: string; role: OperatorRole; hash: string }
    }
  | { type: 'OperatorChanged'; data: { operatorId: string; name?: string; role?: OperatorRole } }
  | { type: 'OperatorRemoved'; data: { operatorId: string } }

export const OPERATORS_STREAM = 'operators'
