import type { Position } from '../../core/contract/index.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { FileIssues } from './issues.ts'
import {
  type FileWarning,
  type PlannedChange,
  type PlannedId,
  type RulesFileState,
  type RulesPlan,
  type StreamOwner,
  type StreamWrite,
  streamRevision,
  type ToId,
} from './planned.ts'
import { References } from './references.ts'

/** Groups come before what refers to them, and are removed after it. */
const PHASES = ['group', 'user', 'policy', 'rules', 'budget', 'removed-group'] as const

type Phase = (typeof PHASES)[number]

/** The parts of a plan while it is made. */
export class PlanBuilder {
  readonly issues = new FileIssues()
  readonly changes: PlannedChange[] = []
  readonly warnings: FileWarning[] = []
  readonly state: RulesFileState
  readonly references: References
  /** Rules are planned in time slices. */
  readonly slice = createCooperativeYield()
  readonly #writes = new Map<string, StreamWrite & { readonly phase: Phase }>()
  #newIds = 0

  constructor(state: RulesFileState) {
    this.state = state
    this.references = new References(state)
  }

  newId(): PlannedId {
    return { newIndex: this.#newIds++ }
  }

  /**
   * Adds events to those that are appended to the stream of the owner. `revision` is that of the stream when
   * what it is compared with was read: pass it if the plan has waited since.
   */
  write(
    owner: StreamOwner,
    title: string,
    events: (toId: ToId) => readonly DomainEvent[],
    {
      phase = owner.type,
      revision = streamRevision(owner, this.state),
    }: { phase?: Phase; revision?: number } = {},
  ): void {
    const key = JSON.stringify(owner)
    const known = this.#writes.get(key)
    if (known !== undefined) known.events.push(events)
    else this.#writes.set(key, { owner, title, revision, events: [events], phase })
  }

  build(position: Position): RulesPlan {
    const { changes, warnings } = this
    const writes = PHASES.flatMap((phase) => [...this.#writes.values()].filter((w) => w.phase === phase))
    return { position, changes, warnings, writes, newIds: this.#newIds }
  }
}
