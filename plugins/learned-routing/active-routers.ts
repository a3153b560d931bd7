import type { Logger } from 'pino'
import {
  AppendTooLargeError,
  type Author,
  type EventLog,
  EventLogUnavailableError,
  type Position,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import { hashEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { classifyContent } from '../../core/events/codec.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { decodeEvent, isWellFormed } from '../../projections/events/registry.ts'
import {
  checksumOf,
  MAX_ROUTER_BYTES,
  MAX_ROUTER_MODELS,
  modelsOfWeights,
  ROUTERS_STREAM,
  type RouterScope,
  type RouterVersion,
  RouterWeightsStored,
  routerWeightsStream,
  scopeName,
  type TrainedModels,
} from '../../projections/events/routers.ts'
import type { Groups } from '../../projections/groups.ts'
import { checkNotInFuture, eventsUpTo } from '../../projections/history.ts'
import type { PastEvent } from '../../projections/past-events.ts'
import { createRouters, type Routers } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { decodeWeights } from './model.ts'
import { ModelTable } from './model-table.ts'

/**
 * Reads the models of a version with their weights. Throws if the log has none with its checksum, and an
 * `EventLogUnavailableError` if the log is unavailable.
 */
export async function readRouterModels(
  log: Pick<EventLog, 'read'>,
  { checksum }: Pick<RouterVersion, 'checksum'>,
): Promise<TrainedModels> {
  const { models, isMissing } = await findModels(log, checksum)
  if (models !== undefined) return models
  throw new Error(
    isMissing ? 'its weights are not in the event log' : 'its weights are not those that were trained',
  )
}

/** The event with the weights of a version. */
interface StoredWeights {
  readonly bytes: number
  /** Hash of its leaf, in hex. */
  readonly weightsLeaf: string
}

/** Writes the weights of a version, unless the log has them: the same ratings yield the same weights. */
export async function storeRouterModels(
  models: TrainedModels,
  author: Author,
  log: Pick<EventLog, 'read'>,
  writer: Pick<EventWriter, 'store'>,
): Promise<StoredWeights> {
  const checksum = checksumOf(models)
  const stream = routerWeightsStream(checksum)
  const bytes = Buffer.byteLength(JSON.stringify({ models }))
  if (bytes > MAX_ROUTER_BYTES) throw new AppendTooLargeError(stream, bytes, MAX_ROUTER_BYTES)
  const find = async () => (await findModels(log, checksum)).record
  let record = await find()
  if (record === undefined) {
    await writer.store(stream, [{ type: RouterWeightsStored.type, data: { models } }], author)
    record = await find()
  }
  if (record === undefined) throw new EventLogUnavailableError('the weights cannot be read back yet')
  return { bytes, weightsLeaf: hashEventLeaf(record).toString('hex') }
}

interface FoundModels {
  readonly models?: TrainedModels
  /** The event that has them. */
  readonly record?: RecordedEvent
  readonly isMissing: boolean
}

/** Later events of a stream replace a damaged one. */
async function findModels(log: Pick<EventLog, 'read'>, checksum: string): Promise<FoundModels> {
  let isMissing = true
  for await (const record of log.read(routerWeightsStream(checksum))) {
    const models = modelsOfWeights(record)
    if (models !== undefined && checksumOf(models) === checksum) return { models, record, isMissing: false }
    isMissing = false
  }
  return { isMissing }
}

/** A version whose weights are decoded. */
export interface LoadedRouter {
  readonly version: number
  /** Models that it knows from enough ratings, by the catalogue's id. */
  readonly models: ModelTable
}

type LogReader = Pick<EventLog, 'read'>

/**
 * The versions that decide. See docs/decisions/routing.md, "A version that cannot be used leaves the one
 * before active".
 */
export interface ActiveRouters {
  /**
   * The version for a user: that of the user's first group that has one, else of everyone. A request with a
   * `rulesPosition` before the newest activation gets the version before it.
   */
  of(userId: number, rulesPosition: Position): LoadedRouter | undefined
  /** Loads the versions that are active. */
  load(log: LogReader): Promise<void>
  /** Loads the version that an event, which is applied next, activates; undefined if it activates none. */
  prepare(record: RecordedEvent, log: LogReader): Promise<void> | undefined
  /** Switches to the versions that are active now, all of which must be loaded. */
  refresh(): void
}

export interface ActiveRouterServices {
  readonly routers: Pick<Routers, 'version' | 'activations' | 'activationsOf' | 'activatedAt'>
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly featureKeyId: string
  readonly minModelRatings: number
  readonly logger: Pick<Logger, 'error' | 'info'>
  /** Called for each version that cannot be used. */
  countDamaged(): void
}

export function createActiveRouters(services: ActiveRouterServices): ActiveRouters {
  const { routers, groups, minModelRatings, logger } = services
  /** By version; undefined for one that cannot be used. */
  const loaded = new Map<number, LoadedRouter | undefined>()
  let byScope = new Map<string, LoadedRouter>()
  /** What decides about requests whose rules were captured before `activatedAt`. */
  let previous = byScope
  let activatedAt: Position = 0

  /** Rejects only if the log is unavailable. */
  async function loadVersion(version: number, log: LogReader): Promise<LoadedRouter | undefined> {
    const source = routers.version(version)
    if (source === undefined || loaded.has(version)) return loaded.get(version)
    try {
      const models = await readRouterModels(log, source)
      const router = loadRouter(source, models, services.featureKeyId, minModelRatings)
      loaded.set(version, router)
      return router
    } catch (error) {
      if (EventLogUnavailableError.isInstance(error)) throw error
      loaded.set(version, undefined)
      services.countDamaged()
      const reason = errorMessage(error)
      logger.error({ version, reason }, 'version of the router refused; the one before stays active')
      return undefined
    }
  }

  /** Lets a version that was refused be read again: its weights may have been stored since. */
  function forgetRefused(version: number): void {
    if (loaded.get(version) === undefined) loaded.delete(version)
  }

  /** Loads the newest version that can be used. `versions` are the oldest first. */
  async function loadNewest(versions: readonly number[], log: LogReader): Promise<void> {
    for (const version of versions.toReversed()) if (await loadVersion(version, log)) return
  }

  function refresh(): void {
    const next = new Map<string, LoadedRouter>()
    for (const { scope, versions } of routers.activations()) {
      const usable = versions.toReversed().map((version) => loaded.get(version))
      const newest = usable.find((router) => router !== undefined)
      if (newest !== undefined) next.set(scopeName(scope), newest)
    }
    previous = byScope
    byScope = next
    activatedAt = routers.activatedAt()
    const used = new Set([...next.values()].map(({ version }) => version))
    for (const [version, router] of loaded)
      if (router !== undefined && !used.has(version)) loaded.delete(version)
  }

  return {
    refresh,
    async load(log) {
      for (const { versions } of routers.activations()) await loadNewest(versions, log)
      refresh()
    },
    prepare(record, log) {
      if (record.stream !== ROUTERS_STREAM || classifyContent(record) !== 'own') return undefined
      const event = decodeEvent(record)
      if (event === undefined || !isWellFormed(event, record)) return undefined
      if (event.type === 'RouterActivated') {
        const { scope, version } = event.data
        forgetRefused(version)
        return loadNewest([...routers.activationsOf(scope), version], log)
      }
      if (event.type !== 'RouterRolledBack') return undefined
      const { scope, from, version } = event.data
      if (version !== null) forgetRefused(version)
      const others = routers.activationsOf(scope).filter((other) => other !== from)
      return loadNewest(version === null ? [] : [...others, version], log)
    },
    of(userId, rulesPosition) {
      const inForce = rulesPosition < activatedAt ? previous : byScope
      if (inForce.size === 0) return undefined
      const everyone = inForce.get('everyone')
      if (inForce.size === 1 && everyone !== undefined) return everyone
      for (const groupId of groups.groupsOf(userId)) {
        const router = inForce.get(scopeName({ groupId }))
        if (router !== undefined) return router
      }
      return everyone
    },
  }
}

/** Decodes a version. Throws if it cannot be used. */
export function loadRouter(
  router: RouterVersion,
  trained: TrainedModels,
  featureKeyId: string,
  minModelRatings: number,
): LoadedRouter {
  if (checksumOf(trained) !== router.checksum) throw new Error('its weights are not those that were trained')
  if (router.featureKeyId !== featureKeyId)
    throw new Error('it was trained with another FEATURES_KEY than this gateway has')
  const known = Object.entries(trained).filter(([, { ratings }]) => ratings >= minModelRatings)
  if (known.length > MAX_ROUTER_MODELS)
    throw new Error(`it has ${known.length} models; ${MAX_ROUTER_MODELS} are the maximum`)
  const models = known.map(([id, { weights }]) => [id, decodeWeights(weights)] as const)
  return { version: router.version, models: new ModelTable(models) }
}

/** Whether two scopes are the same. */
export function isSameScope(left: RouterScope, right: RouterScope): boolean {
  return scopeName(left) === scopeName(right)
}

/** Returns the routers as of a point in time. Throws 400 if it is in the future. */
export async function readRoutersAt(
  log: Pick<EventLog, 'read'>,
  subscription: Pick<Subscription, 'position'>,
  asOf: AsOf,
): Promise<Routers> {
  const events: PastEvent[] = []
  for await (const record of log.read(ROUTERS_STREAM)) {
    const event = decodeEvent(record)
    if (event === undefined || !isWellFormed(event, record)) continue
    events.push({ record, event })
  }
  const now = Date.now()
  checkNotInFuture(asOf, subscription.position(), now, events)
  const routers = createRouters()
  for (const { event, record } of eventsUpTo(events, asOf, now)) if (event) routers.apply(event, record)
  return routers
}
