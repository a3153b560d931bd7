import type { Plugin } from '../../core/contract/index.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { batchPaths } from '../openapi/rules.ts'
import { parseBatch, type RuleCommandSet } from './batch.ts'
import { requestAuthor } from './endpoints.ts'
import { executeRuleChanges, type RuleServices } from './rule-commands.ts'

/** Serves `POST /v1/rules/batch`: atomic changes to rules of both kinds. */
export function createRules(commands: RuleCommandSet, services: RuleServices): Plugin {
  return {
    name: 'rules',
    after: ['auth', 'plan'],
    applies: 'management',
    setup: () => ({
      openapi: batchPaths,
      routes(router) {
        router.post('/v1/rules/batch', async (ctx) => {
          const { userId } = ctx.account
          const changes = parseBatch(jsonBody(ctx), commands, userId)
          const results = await executeRuleChanges(changes, services, userId, requestAuthor(ctx))
          const warnings = results.flatMap((result, operation) =>
            result.type === 'rule' ? result.warnings.map((warning) => ({ ...warning, operation })) : [],
          )
          ctx.body = {
            data: results.map((result) => (result.type === 'rule' ? result.shown : { success: true })),
            ...(warnings.length > 0 && { warnings }),
          }
        })
      },
    }),
  }
}
