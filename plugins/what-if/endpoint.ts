import type { Logger } from 'pino'
import { data, type Endpoint, endpoint, errorsOf, operator } from '../../core/contract/index.ts'
import { parseRequestFilter } from '../ledger/index.ts'
import { streamProgress } from './progress-stream.ts'
import { runWhatIf, type WhatIfQuestion, type WhatIfServices } from './run-what-if.ts'
import { WHAT_IF_LIMIT, WhatIfEvents, WhatIfInput, WhatIfResult, whatIfQuery } from './schemas.ts'
import { WhatIfBusyError } from './thread.ts'

const draft = {
  name: 'Drafted policy',
  is_enabled: true,
  priority: 100,
  applies_to: { everyone: true },
  firewall_rules: [
    {
      name: 'IBAN',
      is_enabled: true,
      priority: 0,
      scope: 'prompt',
      type: 'preset',
      pattern: 'iban',
      action: 'block',
    },
  ],
}

/** `POST /admin/what-if`: what drafts of rules would have done to recorded requests. */
export function createWhatIfEndpoint(services: WhatIfServices, logger: Logger): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/admin/what-if',
    access: operator('auditor'),
    operationId: 'evaluateDrafts',
    summary: 'Evaluates drafts of rules on recorded requests. Changes nothing.',
    description:
      'With the header accept: text/event-stream, the response is a stream of progress that ends with the ' +
      'result.',
    tags: ['policies'],
    query: whatIfQuery,
    body: WhatIfInput,
    examples: {
      draft: { file: { policies: [draft] }, examples: 10 },
      today: { file: {} },
    },
    responses: {
      200: { description: 'What would happen.', body: data(WhatIfResult), events: WhatIfEvents },
    },
    errors: ['validation_error', 'ledger_unavailable', 'what_if_busy'],
    // Recorded prompts are read.
    audited: () => 'prompts',
    async handle(call) {
      const { query, body, client, headers, requestId } = call
      const { file, examples = 10 } = body
      const question = {
        file,
        examples,
        limit: query.limit ?? WHAT_IF_LIMIT.default,
        filter: toFilter(query),
      }
      if (headers.accept?.includes('text/event-stream') === true)
        return streamProgress(
          (onProgress) => evaluate(question, services, client.signal, onProgress),
          (err) => client.isAborted || logger.error({ err, requestId }, 'evaluation of drafts failed'),
        )
      const result = await evaluate(question, services, client.signal)
      return { status: 200, body: { data: result } }
    },
  })
}

type QueryValues = Parameters<typeof parseRequestFilter>[0] & {
  readonly user?: number
  readonly group?: number
}

function toFilter(query: QueryValues): WhatIfQuestion['filter'] {
  const { user, group } = query
  return {
    ...parseRequestFilter(query),
    ...(user !== undefined && { userId: user }),
    ...(group !== undefined && { groupId: group }),
  }
}

async function evaluate(...args: Parameters<typeof runWhatIf>): ReturnType<typeof runWhatIf> {
  try {
    return await runWhatIf(...args)
  } catch (error) {
    if (!(error instanceof WhatIfBusyError)) throw error
    const message = 'Too many evaluations are waiting. Try again when one has ended.'
    throw whatIfError('what_if_busy', message, { retryAfter: 2 })
  }
}

export const WHAT_IF_ERROR_CODES = {
  what_if_busy: {
    ...{ status: 429, type: 'rate_limit_error' },
    description: 'Too many evaluations of drafts are waiting.',
  },
} as const

const whatIfError = errorsOf(WHAT_IF_ERROR_CODES)
