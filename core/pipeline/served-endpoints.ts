import {
  type ApiDescription,
  type Dialect,
  type EndpointDescription,
  ERROR_CODES,
  type ErrorCode,
  Type,
  user,
} from '../contract/index.ts'
import { PROBES } from '../http/probes.ts'
import type { PluginStep } from './load.ts'
import { createNameOwners } from './registries.ts'

/** An inference endpoint, and the plugin that adds it, as error messages show it. */
export interface InferenceEndpoint {
  readonly owner: string
  readonly endpoint: EndpointDescription
  readonly dialect: Dialect
  readonly isBuiltIn: boolean
}

/** Returns the inference endpoints of all plugins. */
export function listInferenceEndpoints(steps: readonly PluginStep[]): readonly InferenceEndpoint[] {
  return steps.flatMap(({ title, parts, isBuiltIn }) =>
    Object.entries(parts.dialects ?? {}).map(([path, dialect]) => ({
      ...{ owner: title, isBuiltIn, dialect },
      endpoint: describeInference(title, path, dialect),
    })),
  )
}

/** Errors of the gateway that every inference endpoint can return, besides those of all endpoints. */
const INFERENCE_ERRORS: readonly ErrorCode[] = [
  'missing_parameter',
  'unsupported_parameter',
  'provider_refused',
  'model_not_found',
  'context_length_exceeded',
  'provider_quota_exceeded',
  'provider_rate_limited',
  'provider_authentication_error',
  'provider_overloaded',
  'provider_error',
  'provider_unreachable',
  'model_unavailable',
  'no_providers_available',
  'shutting_down',
  'memory_limit_reached',
  'provider_timeout',
]

function describeInference(
  owner: string,
  path: string,
  { errorStyle, description }: Dialect,
): EndpointDescription {
  return {
    operationId: `create${path.replaceAll(/\W+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: `Answers an inference request in the format of ${owner}.`,
    tags: ['inference'],
    body: Type.Object({}),
    responses: { 200: { description: 'The reply of the model.', body: Type.Object({}) } },
    ...description,
    method: 'POST',
    path,
    access: user(),
    tellsOwnTime: true,
    errorStyle,
    errors: INFERENCE_ERRORS,
  }
}

/** Describes everything that the gateway and its plugins serve. */
export function describeApi(steps: readonly PluginStep[], hasOperators: boolean): ApiDescription {
  const errorCodes = collectErrorCodes(steps)
  const ofPlugins = Object.keys(errorCodes).filter((code) => errorCodes[code]?.of === 'inference')
  const inference = listInferenceEndpoints(steps).map(({ endpoint }) => ({
    ...endpoint,
    errors: [...ofPlugins, ...(endpoint.errors ?? [])],
  }))
  const declared = steps.flatMap(({ parts }) => parts.endpoints ?? [])
  return {
    endpoints: [
      ...inference,
      ...declared.filter(({ access }) => access.type !== 'operator' || hasOperators),
      ...PROBES,
    ],
    errorCodes,
  }
}

/** Returns the error codes of the gateway and all plugins. Throws if a code is defined twice. */
export function collectErrorCodes(steps: readonly PluginStep[]): ApiDescription['errorCodes'] {
  const codes: Record<string, ApiDescription['errorCodes'][string]> = { ...ERROR_CODES }
  const owners = createNameOwners()
  for (const code of Object.keys(ERROR_CODES)) owners.claim('error code', code, 'the gateway')
  for (const { title, parts } of steps) {
    for (const [code, definition] of Object.entries(parts.errorCodes ?? {})) {
      owners.claim('error code', code, title)
      codes[code] = definition
    }
  }
  return codes
}

/** Throws if two endpoints have the same operation id: clients could be generated for one of them only. */
export function checkOperationIds(steps: readonly PluginStep[]): void {
  const owners = new Map<string, string>()
  const inference = listInferenceEndpoints(steps)
  const declared = steps.flatMap(({ title, parts }) =>
    (parts.endpoints ?? []).map((endpoint) => ({ owner: title, endpoint })),
  )
  for (const { owner, endpoint } of [...inference, ...declared]) {
    const { operationId, method, path } = endpoint
    const other = owners.get(operationId)
    if (other !== undefined)
      throw new Error(
        `${method} ${path} of ${owner} has the operation id "${operationId}" of ${other}. Rename it.`,
      )
    owners.set(operationId, `${method} ${path} of ${owner}`)
  }
}
