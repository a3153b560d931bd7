import type { Plugin } from '../../core/contract/index.ts'
import { createWhatIfEndpoint, WHAT_IF_ERROR_CODES } from './endpoint.ts'
import type { WhatIfServices } from './run-what-if.ts'

/** Evaluates drafts of rules on recorded requests (docs/what-if.md). */
export function createWhatIf(services: WhatIfServices): Plugin {
  return {
    name: 'what-if',
    after: ['ledger', 'routing', 'firewall'],
    setup: (_, { logger }) => ({
      endpoints: [createWhatIfEndpoint(services, logger)],
      errorCodes: WHAT_IF_ERROR_CODES,
      close: () => services.thread.close(),
    }),
  }
}
