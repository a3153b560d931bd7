import {
  type Action,
  type Requirement,
  type RuleTraceEntry,
  StrictObject,
  type Target,
  Type,
} from '../../core/contract/index.ts'
import {
  describeRequirement,
  meetsRequirement,
  mergeRequirements,
  requirementError,
} from '../../providers/shared/attributes.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

/** Rules can only demand what protects data. */
const RequirementSchema = StrictObject(
  {
    region: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$',
        description: 'A region, such as eu or eu-west-1; includes its members.',
      }),
    ),
    zdr: Type.Optional(Type.Literal(true, { description: 'Zero data retention.' })),
    retention_days: Type.Optional(
      Type.Number({ minimum: 0, description: 'The most days for which data may be kept.' }),
    ),
    trains_on_data: Type.Optional(Type.Literal(false, { description: 'No training on data.' })),
  },
  { minProperties: 1 },
)

/**
 * The action that keeps a request away from models without these attributes, whatever chooses the model
 * (docs/guides/data-residency.md). Requirements of several rules add up.
 */
export const requireAction: Action = {
  name: 'require',
  schema: RequirementSchema,
  description:
    'an object such as {"region": "eu", "zdr": true}, with at least one of region, zdr (true), ' +
    'retention_days and trains_on_data (false)',
  combine: 'all',
  choose: (value) => ({ value, arm: describeRequirement(value as Requirement) }),
  apply(value, draft) {
    draft.requirements.push(value as Requirement)
  },
}

/** What rules require of the target of one request. */
export interface Demand {
  readonly requirement: Requirement
  /** What could have served the request, and does not meet the requirement. */
  readonly excluded: Set<Target>
}

/** Undefined if rules require nothing. */
export function buildDemand(requirements: readonly Requirement[]): Demand | undefined {
  const [first, ...others] = requirements
  return first && { requirement: others.reduce(mergeRequirements, first), excluded: new Set() }
}

/** Whether a target may be used. */
export function admitsTarget(
  demand: Demand | undefined,
  target: Target,
  { meets = meetsRequirement }: Pick<RoutingCatalog, 'meets'>,
): boolean {
  if (demand === undefined || meets(demand.requirement, target)) return true
  demand.excluded.add(target)
  return false
}

/** Throws 503 if the named target does not meet the requirement. */
export function checkDemand(
  demand: Demand | undefined,
  target: Target,
  routingCatalog: Pick<RoutingCatalog, 'meets'>,
): void {
  if (demand === undefined || admitsTarget(demand, target, routingCatalog)) return
  throw requirementError(`${target.provider}/${target.model} does not meet`, demand.requirement)
}

/** Models that a trace entry names. */
const MAX_EXCLUDED = 20

/** Adds to the entry of each requirement which models it excluded. */
export function traceExcluded(
  trace: readonly RuleTraceEntry[],
  demand: Demand | undefined,
  requirements: readonly Requirement[],
  { meets = meetsRequirement }: Pick<RoutingCatalog, 'meets'>,
): readonly RuleTraceEntry[] {
  if (demand === undefined || demand.excluded.size === 0) return trace
  return trace.map((entry) => {
    if (entry.action !== requireAction.name || entry.arm === undefined) return entry
    const requirement = requirements.find((each) => describeRequirement(each) === entry.arm)
    if (requirement === undefined) return entry
    const excluded = [...demand.excluded].filter((target) => !meets(requirement, target))
    if (excluded.length === 0) return entry
    const names = excluded.slice(0, MAX_EXCLUDED).map(({ provider, model }) => `${provider}/${model}`)
    return entryWith(entry, names, excluded.length)
  })
}

/** Entries with what they excluded. They are cached so that the request records kept in memory share them. */
const entries = new WeakMap<RuleTraceEntry, Map<string, RuleTraceEntry>>()

/** Callers choose fixed models, so their number is not bounded. */
const MAX_CACHED_ENTRIES = 50

function entryWith(entry: RuleTraceEntry, excluded: string[], excluded_count: number): RuleTraceEntry {
  const cached = entries.get(entry) ?? new Map<string, RuleTraceEntry>()
  const key = `${excluded_count} ${excluded.join()}`
  const known = cached.get(key)
  if (known !== undefined) return known
  Object.freeze(excluded)
  const complete = Object.freeze({ ...entry, excluded, excluded_count })
  if (cached.size >= MAX_CACHED_ENTRIES) cached.clear()
  entries.set(entry, cached.set(key, complete))
  return complete
}
