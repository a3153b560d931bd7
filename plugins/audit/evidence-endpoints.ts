import {
  data,
  type Endpoint,
  endpoint,
  errorsOf,
  GatewayError,
  operator,
  Type,
} from '../../core/contract/index.ts'
import { formatVerifierKey } from '../../core/event-log/transparency/checkpoint.ts'
import type { StoredCheckpoint } from '../../core/event-log/transparency/checkpoint-stream.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import { Count, NextCursor, NoFields, pageQuery, Timestamp } from '../../core/http/schemas.ts'
import type { Evidence, ProofIssue } from '../../projections/transparency/evidence.ts'

const position = Type.Integer({
  minimum: 1,
  format: 'int64',
  description: 'Log position of a change.',
  examples: [12],
})

const EventProofSchema = Type.Object(
  {
    position: Count('Log position of the event.'),
    index: Count('Number of the event in the log, from 0: the index of its leaf.'),
    leaf: Type.String({
      description: 'The event as it was hashed: a JSON array of stream, revision, type, data and metadata.',
    }),
    hashes: Type.Array(Type.String({ description: 'A SHA-256 in base64.' }), {
      description: 'The inclusion proof of RFC 9162, from the leaf to the root.',
    }),
    checkpoint: Type.String({ description: 'The newest checkpoint, a C2SP signed note.' }),
    key: Type.String({
      description: 'The public key that the checkpoint names. Compare it with the one that you trust.',
    }),
  },
  { $id: 'EventProof', description: 'Proves that an event is in the log that a checkpoint was signed over.' },
)

const LoggedCheckpoint = Type.Object(
  {
    size: Count('Number of events that it covers: the first ones of the log.'),
    root: Type.String({ description: 'The root of their tree: a SHA-256 in base64.' }),
    time: Timestamp('When it was signed.'),
    position: Count('Log position of its own event.'),
    key: Type.String({ description: 'The public key that it names.' }),
    note: Type.String({ description: 'The checkpoint, a C2SP signed note.' }),
  },
  { $id: 'LoggedCheckpoint', description: 'A checkpoint that the event log holds.' },
)

const CheckpointPage = Type.Object(
  {
    data: Type.Array(LoggedCheckpoint, { description: 'The checkpoints, newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'LoggedCheckpointPage', description: 'A page of checkpoints.' },
)

function showCheckpoint({ size, root, time, position, key, text }: StoredCheckpoint) {
  return { size, root: root.toString('base64'), time, position, key: formatVerifierKey(key), note: text }
}

const CHECKPOINT_PAGE = { default: 100, max: 1000 }

const checkpointQuery = {
  ...pageQuery(CHECKPOINT_PAGE, encodeCursor('below', 7)),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      format: 'int64',
      description: 'Only the checkpoint over so many events, such as to compare it with one that was saved.',
      examples: [1050],
    }),
  ),
}

/** Creates the endpoints that prove events to auditors. */
export function createEvidenceEndpoints(evidence: Evidence): readonly Endpoint[] {
  const common = { access: operator('auditor'), tags: ['admin'] }
  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/audit/checkpoint',
      operationId: 'readCheckpoint',
      summary: 'Returns the newest signed checkpoint over the event log.',
      description: 'Save it: "signalbox log verify --checkpoint FILE" proves that a later log extends it.',
      responses: { 200: { description: 'A C2SP signed note.', text: 'text/plain' } },
      errors: ['not_found'],
      async handle() {
        const note = await evidence.newestCheckpoint()
        if (note === undefined) throw new GatewayError('not_found', `No checkpoint was signed yet. ${WHEN}`)
        return answerNote(note)
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/audit/checkpoints',
      operationId: 'listCheckpoints',
      summary: 'Lists the signed checkpoints that the event log holds, newest first.',
      description: 'Signatures are not verified: compare the keys with those that you trust.',
      query: checkpointQuery,
      responses: { 200: { description: 'A page of checkpoints.', body: CheckpointPage } },
      async handle({ query: { limit = CHECKPOINT_PAGE.default, cursor, size } }) {
        if (size !== undefined) {
          const found = await evidence.checkpointOver(size)
          return { status: 200, body: { data: found ? [showCheckpoint(found)] : [], next_cursor: null } }
        }
        const below = cursor === undefined ? undefined : decodeCursor('below', cursor)
        const page = await evidence.checkpoints(limit, below)
        const oldest = page.at(-1)?.revision ?? 0
        const next_cursor = oldest === 0 ? null : encodeCursor('below', oldest)
        return { status: 200, body: { data: page.map(showCheckpoint), next_cursor } }
      },
    }),
    endpoint({
      ...common,
      method: 'POST',
      path: '/admin/audit/checkpoint',
      operationId: 'signCheckpoint',
      summary: 'Signs a checkpoint over all events now, and returns it.',
      description:
        'Returns the newest checkpoint if no event was written since. Before it signs, it compares the ' +
        'events behind the newest checkpoint with the hashes that were recorded when they were written.',
      body: NoFields,
      examples: { 'nothing is chosen': {} },
      responses: { 200: { description: 'A C2SP signed note.', text: 'text/plain' } },
      errors: ['event_log_changed'],
      async handle() {
        const signed = await evidence.sign()
        if (typeof signed === 'string') return answerNote(signed)
        throw evidenceError('event_log_changed', `${signed.reason} Run "signalbox log verify".`)
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/audit/{position}/proof',
      operationId: 'proveEvent',
      summary: 'Proves that an event is in the log that the newest checkpoint was signed over.',
      params: { position },
      responses: { 200: { description: 'The proof.', body: data(EventProofSchema) } },
      errors: ['not_found', 'event_log_changed'],
      async handle({ params }) {
        const proof = await evidence.prove(params.position)
        if (typeof proof === 'string') throw createProofError(proof, params.position)
        return { status: 200, body: { data: proof } }
      },
    }),
  ]
}

const WHEN =
  'One is signed after 1,000 changes, every hour with changes, when the gateway stops, and on request.'

function answerNote(body: string) {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

export const EVIDENCE_ERROR_CODES = {
  event_log_changed: {
    ...{ status: 503, type: 'service_unavailable_error' },
    description:
      'An event of the log is not the one that was hashed, so it cannot be proven, and nothing is signed.',
  },
} as const

const evidenceError = errorsOf(EVIDENCE_ERROR_CODES)

function createProofError(issue: ProofIssue, position: number): GatewayError {
  if (issue === 'no-event')
    return new GatewayError('not_found', `The event log holds no event at position ${position}.`)
  if (issue === 'not-covered')
    return new GatewayError('not_found', `No checkpoint covers position ${position} yet. ${WHEN}`)
  return evidenceError(
    'event_log_changed',
    `The event at position ${position} was changed after it was hashed. Run "signalbox log verify".`,
  )
}
