import {
  type Account,
  type Exchange,
  GatewayError,
  type JsonObject,
  Nullable,
  type OperatorScope,
  type Static,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import {
  AnyFields,
  Count,
  RuleOriginSchema,
  RuleTraceEntrySchema,
  WarningSchema,
} from '../../core/http/schemas.ts'
import { rulesPositionOf } from '../../core/pipeline/inference.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import { digestOf } from '../../core/util/canonical-json.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { checkEndpoint } from '../auth/index.ts'
import { RecordedErrorSchema, type StoredToolCall } from '../ledger/index.ts'
import { CALL_VERDICTS, isRecordedAs, type UnsentDecision, type UnsentToolCall } from '../mcp/index.ts'
import { type SimulatedToolCall, ToolSimulationRequest } from './schemas.ts'
import type { AuditServices } from './services.ts'
import { showSimulatedError } from './show-decision.ts'
import {
  type CallerTerms,
  completeFromRecord,
  hasRules,
  snapshotSimulatedCaller,
} from './simulated-caller.ts'

/** A parsed body of `POST /v1/simulate` about a call of a tool. */
export interface ToolSimulation extends CallerTerms {
  readonly toolCall: Static<typeof SimulatedToolCall>
}

interface ToolSimulationTerms extends Pick<CallerTerms, 'drafts' | 'policyDrafts'> {
  readonly as_of?: string | number | undefined
  readonly key_id?: string | undefined
  readonly request_id?: string | undefined
}

const parseRequest = createLazyParser(ToolSimulationRequest)

/** Throws 400 naming the invalid field. */
export function parseToolSimulation(body: JsonObject): ToolSimulation {
  const { tool_call, rules = {}, ...terms } = parseRequest(body)
  return toToolSimulation(tool_call, { ...terms, drafts: rules, policyDrafts: [] })
}

/** Throws 400 if `as_of` is invalid. */
export function toToolSimulation(
  toolCall: ToolSimulation['toolCall'],
  { as_of, key_id, request_id, drafts, policyDrafts }: ToolSimulationTerms,
): ToolSimulation {
  return {
    toolCall,
    asOf: as_of === undefined ? undefined : parseAsOf(as_of, 'as_of'),
    keyId: key_id,
    requestId: request_id,
    ...{ drafts, policyDrafts },
  }
}

/** Shows how a call of a tool would be handled. Calls nothing. */
export async function simulateToolCall(
  asked: ToolSimulation,
  { account, client }: Pick<Exchange, 'account' | 'client'>,
  services: AuditServices,
  isOperator: boolean,
  scope: OperatorScope | undefined,
) {
  if (services.toolDecisions === undefined) {
    const message = 'Calls of tools cannot be simulated: the plugin "mcp" is not listed.'
    throw new GatewayError('unsupported_parameter', message, { param: 'tool_call' })
  }
  const record = await findRecorded(asked, account, services, scope)
  const simulation = record ? completeFromRecord(asked, record) : asked
  const call = completeCall(asked, record, isOperator)
  const caller = await snapshotSimulatedCaller(simulation, account, services)
  if (simulation.keyId !== undefined) checkEndpoint(caller.account, `/mcp/${call.server}`)
  const decision = await services.toolDecisions.decide({ ...caller, client }, call, simulation.asOf)
  const shown = isOperator ? decision : concealHidden(decision)
  const position = Math.max(rulesPositionOf(caller), decision.serversPosition)
  const data = showToolDecision(call, shown, position)
  if (record === undefined) return { status: 200, body: { data } }
  const recorded = {
    verdict: record.verdict,
    is_same: isRecordedAs(record, decision.verdict),
    has_same_arguments: digestOf(call.arguments) === record.argumentsDigest,
  }
  // Operators read what is recorded at endpoints that note it.
  const isConcealed = isOperator && asked.toolCall.arguments === undefined
  return { status: 200, body: { data: { ...data, ...(isConcealed && { tool_call: null }), recorded } } }
}

/** Finds the recorded call of the user that is asked about. */
async function findRecorded(
  { requestId }: ToolSimulation,
  { userId }: Account,
  { findToolCall }: AuditServices,
  scope: OperatorScope | undefined,
): Promise<StoredToolCall | undefined> {
  const record = requestId === undefined ? undefined : await findToolCall(requestId)
  const isVisible = scope === undefined || record?.groups.some(scope.hasGroup)
  return record?.userId === userId && isVisible ? record : undefined
}

/** Throws 400 if something is missing. */
function completeCall(
  { toolCall, asOf, drafts, policyDrafts }: ToolSimulation,
  record: StoredToolCall | undefined,
  isOperator: boolean,
): UnsentToolCall {
  const { server = record?.server, tool = record?.tool, revision = record?.revision } = toolCall
  if (server === undefined) throw missingError('server')
  if (tool === undefined) throw missingError('tool')
  const call = { server, tool, revision, read: toolCall.read ?? record?.read ?? [] }
  if (toolCall.arguments !== undefined) return { ...call, arguments: toolCall.arguments }
  if (record === undefined) return { ...call, arguments: {} }
  // With rules of their own choice, operators could find out what is recorded.
  if (isOperator && (asOf !== undefined || hasRules(drafts) || policyDrafts.length > 0))
    throw missingError('arguments', 'The recorded ones are only used with the rules of then.')
  if (record.argumentsText === undefined)
    throw missingError('arguments', 'They are not recorded: see ledger.record_prompts.')
  return { ...call, arguments: JSON.parse(record.argumentsText) }
}

function missingError(field: string, reason?: string): GatewayError {
  const param = `tool_call.${field}`
  const message = [`${param} is missing.`, ...(reason === undefined ? [] : [reason])].join(' ')
  return new GatewayError('missing_parameter', message, { param })
}

/** Users cannot tell what a policy hides from what does not exist. */
function concealHidden(decision: UnsentDecision): UnsentDecision {
  if (decision.verdict !== 'hidden' || decision.rule?.origin === undefined) return decision
  const { error, serversPosition } = decision
  const nothing = { rule: undefined, warnings: [], trace: [], argumentsText: undefined, revision: undefined }
  return { verdict: 'not_served', ...nothing, error, serversPosition }
}

/** Shows a decision as simulations do. */
export function showToolDecision(
  { server, tool }: UnsentToolCall,
  { verdict, rule, warnings, trace, argumentsText, error, revision }: UnsentDecision,
  rulesPosition: number,
): Static<typeof ToolSimulationSchema> {
  return {
    outcome: error === undefined ? 'allowed' : 'refused',
    verdict,
    rule:
      rule === undefined
        ? null
        : { rule_id: rule.id, name: rule.name, ...(rule.origin && { origin: rule.origin }) },
    ...(error && { error: showSimulatedError(error) as Static<typeof RecordedErrorSchema> }),
    tool_call:
      argumentsText === undefined
        ? null
        : { server, tool, ...(revision !== undefined && { revision }), arguments: JSON.parse(argumentsText) },
    warnings: [...warnings],
    rule_trace: [...trace],
    rules_position: rulesPosition,
  }
}

export const ToolSimulationSchema = Type.Object(
  {
    outcome: StringEnum(['allowed', 'refused'], {
      description: 'Whether the call would be made, or could be once it is approved.',
    }),
    verdict: StringEnum(CALL_VERDICTS, { description: 'What would be decided.' }),
    rule: Nullable(
      Type.Object(
        {
          rule_id: Type.Integer({ description: 'Id of the rule.' }),
          name: Type.String({ description: 'Name of the rule.' }),
          origin: Type.Optional(RuleOriginSchema),
        },
        { $id: 'DecidingToolRule', description: 'A tool rule that decides about a call.' },
      ),
      { description: 'The tool rule that would decide; null if the default of the server does.' },
    ),
    error: Type.Optional(RecordedErrorSchema),
    tool_call: Nullable(
      Type.Object(
        {
          server: Type.String({ description: 'Name of the tool server.' }),
          tool: Type.String({ description: 'Name of the tool.' }),
          revision: Type.Optional(Type.Integer({ description: 'The revision of its definition.' })),
          arguments: AnyFields('The arguments, after masking.'),
        },
        { $id: 'ToolCallToSend', description: 'A call as it would be sent.' },
      ),
      { description: 'The call that would be sent; null if it is refused.' },
    ),
    warnings: Type.Array(WarningSchema, { description: 'Warnings, as they would be recorded.' }),
    rule_trace: Type.Array(RuleTraceEntrySchema, { description: 'The outcome of every rule.' }),
    rules_position: Count('Log position of the rules and definitions that decide.'),
    recorded: Type.Optional(
      Type.Object(
        {
          verdict: Type.String({ description: 'What became of the call.' }),
          is_same: Type.Boolean({ description: 'Whether the same is decided again.' }),
          has_same_arguments: Type.Boolean({
            description: 'Whether the arguments are those of then. Recorded ones may be masked.',
          }),
        },
        { $id: 'RecordedToolCall', description: 'The record of the request_id.' },
      ),
    ),
  },
  { $id: 'ToolSimulation', description: 'How a call of a tool would be handled.' },
)
