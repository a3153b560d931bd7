import type { RecordedEvent, StreamAnomaly } from '../../core/contract/index.ts'
import { hashEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { classifyContent } from '../../core/events/codec.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { decodeEvent, EVENTS, isWellFormed } from '../../projections/events/registry.ts'
import {
  checksumOf,
  modelsOfWeights,
  ROUTER_WEIGHTS_PREFIX,
  type RouterVersionData,
  routerWeightsStream,
} from '../../projections/events/routers.ts'
import { isFollowed } from '../../projections/events/streams.ts'

/** Checks records one after the other, in log order. */
interface RecordChecker {
  check(record: RecordedEvent): void
  /** Notes what is in the log besides the events of Signalbox. */
  note(anomaly: StreamAnomaly): void
  /** The number of events by stream. */
  streams(): ReadonlyMap<string, number>
  facts(): readonly string[]
  issues(): readonly string[]
}

/** Further issues are only counted. */
const MAX_LISTED_ISSUES = 20

/** `findPluginIssue` checks an event of a plugin and returns the issue as the end of a sentence. */
export function createRecordChecker(
  findPluginIssue: (record: RecordedEvent) => string | undefined,
): RecordChecker {
  const revisions = new Map<string, number>()
  const unknownEvents = new Map<string, number>()
  const counts = new Map<string, number>()
  const foreign = new Map<string, number>()
  const assignedIds = new Set<number>()
  /** Hashes of the leaves of events with weights, by stream. */
  const weightsLeaves = new Map<string, readonly string[]>()
  const issues: string[] = []
  let events = 0
  let lastPosition = 0
  let unlistedIssues = 0

  function report({ revision, stream, position }: RecordedEvent, issue: string): void {
    list(`Event ${revision} of ${stream}, at position ${position}, ${issue}.`)
  }

  function checkContent(record: RecordedEvent): void {
    if (classifyContent(record) === 'foreign') {
      report(record, 'is not an event of Signalbox')
      return
    }
    if (isPluginStream(record.stream)) {
      const issue = findPluginIssue(record)
      if (issue !== undefined) report(record, issue)
      return
    }
    if (!isFollowed(record.stream)) {
      const leaf = hashEventLeaf(record).toString('hex')
      weightsLeaves.set(record.stream, [...(weightsLeaves.get(record.stream) ?? []), leaf])
      const issue = findWeightsIssue(record)
      if (issue !== undefined) report(record, issue)
      return
    }
    const event = decodeEvent(record)
    if (event === undefined) {
      const name = `${record.type}, schema ${record.metadata.schema}`
      unknownEvents.set(name, (unknownEvents.get(name) ?? 0) + 1)
      return
    }
    const declaration = EVENTS.declarationOf(event)
    const { data } = record
    if (!declaration.belongsTo(record.stream, data))
      report(record, `belongs to stream ${declaration.streamOf(data)}`)
    else if (!isWellFormed(event, record)) report(record, 'is malformed')
    else if (event.type === 'RouterTrained') {
      const issue = findVersionIssue(event.data)
      if (issue !== undefined) report(record, issue)
    }
    const id = declaration.assigns(data)
    if (id === undefined) return
    if (assignedIds.has(id)) report(record, `assigns the id ${id}, which is already taken`)
    assignedIds.add(id)
  }

  /** The events with weights are not in the tree: the event of the version, which is, has their hash. */
  function findVersionIssue({ checksum, weightsLeaf }: RouterVersionData): string | undefined {
    const leaves = weightsLeaves.get(routerWeightsStream(checksum))
    if (leaves === undefined) return 'has no weights in the log'
    if (leaves.includes(weightsLeaf)) return undefined
    return 'has weights whose event was changed'
  }

  function list(issue: string): void {
    if (issues.length < MAX_LISTED_ISSUES) issues.push(issue)
    else unlistedIssues += 1
  }

  return {
    note({ kind, stream, revision }) {
      if (kind === 'deleted') list(`Stream ${stream} was deleted permanently.`)
      if (kind === 'truncated') list(`Stream ${stream} has metadata that hides events.`)
      if (kind !== 'foreign') return
      foreign.set(stream, (foreign.get(stream) ?? 0) + 1)
      revisions.set(stream, revision)
    },
    streams: () => counts,
    check(record) {
      counts.set(record.stream, (counts.get(record.stream) ?? 0) + 1)
      const expected = (revisions.get(record.stream) ?? -1) + 1
      if (record.revision !== expected) report(record, `should be event ${expected} of its stream`)
      revisions.set(record.stream, record.revision)
      if (record.position <= lastPosition) report(record, `is not after position ${lastPosition}`)
      lastPosition = record.position
      events += 1
      try {
        checkContent(record)
      } catch (error) {
        report(record, `cannot be read: ${errorMessage(error)}`)
      }
    },
    facts: () => [
      `${events} events in ${revisions.size} streams, the newest at position ${lastPosition}.`,
      ...[...unknownEvents].map(
        ([name, count]) => `${count} events of a newer version were skipped: ${name}.`,
      ),
      ...[...foreign].map(
        ([stream, count]) => `${count} events of other programs were skipped in stream ${stream}.`,
      ),
    ],
    issues: () => [...issues, ...(unlistedIssues > 0 ? [`${unlistedIssues} more issues were found.`] : [])],
  }
}

/** Weights are named by their checksum, so that they prove themselves. */
function findWeightsIssue(record: RecordedEvent): string | undefined {
  const models = modelsOfWeights(record)
  if (models === undefined) return 'is malformed'
  const isNamed = record.stream === ROUTER_WEIGHTS_PREFIX + checksumOf(models)
  return isNamed ? undefined : 'has weights that do not match the name of its stream'
}
