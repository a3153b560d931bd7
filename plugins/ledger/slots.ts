import { slot, type Target } from '../../core/contract/index.ts'

/** Which request this one is a copy of, for comparison with another model. `shadow` sets it. */
export const CopyOf = slot<{
  readonly requestId: string
  /** A rule of the user, not of a policy, asked for the copy: the user pays for it. */
  readonly isOwn: boolean
}>('ledger.copy-of')

/** The target that gets a copy of the request once it is answered. `shadow` sets it. */
export const CopyTarget = slot<Target>('ledger.copy-target')

/** Hashed features of the prompt, as base64, while learned routing is on. */
export const RecordedFeatures = slot<string>('ledger.features')

/** What counts if the cost stays unknown: the worst case, in billionths of a US dollar. `budget` sets it. */
export const WorstCase = slot<number>('ledger.worst-case')
