import {
  type Author,
  type EventLog,
  EventLogUnavailableError,
  GatewayError,
} from '../../core/contract/index.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import {
  checksumOf,
  ROUTERS_STREAM,
  type RouterEvent,
  type RouterScope,
  type RouterVersion,
  scopeName,
  type TrainedModels,
  type TrainedRouterData,
} from '../../projections/events/routers.ts'
import type { Routers } from '../../projections/routers.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { isSameScope, loadRouter, readRouterModels, storeRouterModels } from './active-routers.ts'

/** A router as the learner returns it. */
export type NewRouter = Omit<TrainedRouterData, 'version' | 'checksum' | 'featureKeyId'>

export interface AddVersionOptions {
  /** Throws 409 if this is not the newest version of the scope any more. 0: there is none. */
  readonly after?: number
}

/**
 * Changes to routers. Each resolves when all processes of this node use the result, and throws a
 * `GatewayError` with code `not_found` for an unknown version.
 */
export interface RouterCommands {
  addVersion(router: NewRouter, author: Author, options?: AddVersionOptions): Promise<RouterVersion>
  /** Throws 409 if the version cannot be used, or is active. */
  activate(version: number, author: Author): Promise<RouterVersion>
  /** Activates the version that was active before, or none. Throws 409 if none is active. */
  rollBack(scope: RouterScope, author: Author): Promise<RouterVersion | undefined>
  /** Reads the models of a version with their weights. Throws 409 if it cannot be used. */
  readUsable(router: RouterVersion): Promise<TrainedModels>
  /** Throws 400 if the author must give a reason and gives none. */
  checkAuthor(author: Author): void
}

export function createRouterCommands(
  routers: Routers,
  writer: EventWriter,
  log: Pick<EventLog, 'read'>,
  featureKeyId: () => string,
): RouterCommands {
  function write(decide: () => readonly RouterEvent[], author: Author): Promise<unknown> {
    return writer.write({ stream: ROUTERS_STREAM, revision: routers.revision, decide }, author)
  }

  async function readUsable(router: RouterVersion): Promise<TrainedModels> {
    try {
      const models = await readRouterModels(log, router)
      loadRouter(router, models, featureKeyId(), 0)
      return models
    } catch (error) {
      if (EventLogUnavailableError.isInstance(error)) throw error
      const reason = errorMessage(error)
      const message = `Version ${router.version} of the router cannot be used: ${reason}. Train another one.`
      throw new GatewayError('conflict', message)
    }
  }

  const commands: Pick<RouterCommands, 'addVersion' | 'activate' | 'rollBack'> = {
    async addVersion({ models, ...router }, author, { after } = {}) {
      const check = () => after !== undefined && checkNewest(routers, router.scope, after)
      check()
      // First, so that a version in the log always has its weights.
      const stored = await storeRouterModels(models, author, log, writer)
      const data = {
        ...router,
        models: Object.fromEntries(Object.entries(models).map(([id, { ratings }]) => [id, { ratings }])),
        ...stored,
        featureKeyId: featureKeyId(),
        checksum: checksumOf(models),
      }
      let version = 0
      await write(() => {
        check()
        version = routers.nextVersion()
        return [{ type: 'RouterTrained', data: { version, ...data } }]
      }, author)
      return requireRouter(routers, version)
    },
    async activate(version, author) {
      const router = requireRouter(routers, version)
      await readUsable(router)
      await write(() => {
        const { scope } = router
        if (routers.activationsOf(scope).at(-1) === version)
          throw new GatewayError('conflict', `Version ${version} of the router is active already.`)
        return [{ type: 'RouterActivated', data: { version, scope } }]
      }, author)
      return router
    },
    async rollBack(scope, author) {
      let version: number | null = null
      await write(() => {
        const activations = routers.activationsOf(scope)
        const from = activations.at(-1)
        if (from === undefined) {
          const message = `No version of the router is active for ${scopeName(scope)}.`
          throw new GatewayError('conflict', message)
        }
        version = activations.at(-2) ?? null
        return [{ type: 'RouterRolledBack', data: { scope, from, version } }]
      }, author)
      return version === null ? undefined : requireRouter(routers, version)
    },
  }
  return {
    addVersion: (...args) => answerInTime(commands.addVersion(...args)),
    activate: (...args) => answerInTime(commands.activate(...args)),
    rollBack: (...args) => answerInTime(commands.rollBack(...args)),
    readUsable,
    checkAuthor: (author) => writer.checkAuthor(author),
  }
}

/** Throws 404 for an unknown version. */
export function requireRouter(routers: Pick<Routers, 'version'>, version: number): RouterVersion {
  const router = routers.version(version)
  if (router !== undefined) return router
  throw routerNotFoundError(String(version))
}

export function routerNotFoundError(version: string): GatewayError {
  return new GatewayError('not_found', `Version ${version} of the router was not found.`)
}

/** Decided again when another node has appended first, so only one of several trainings is written. */
function checkNewest(routers: Routers, scope: RouterScope, after: number): void {
  const newest = routers.versions().findLast((router) => isSameScope(router.scope, scope))
  if ((newest?.version ?? 0) === after) return
  throw new GatewayError('conflict', `Version ${newest?.version} of the router was trained meanwhile.`)
}
