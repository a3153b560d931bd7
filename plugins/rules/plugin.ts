import type { Plugin } from '../../core/contract/index.ts'
import { bodyOf } from '../../core/http/read-body.ts'
import { batchPaths } from '../openapi/batch.ts'
import { type Desks, readChanges } from './batch.ts'
import { carryOut, type RuleServices } from './carry-out.ts'
import { authorOf } from './rule-request.ts'

/** What concerns both kinds of rules at once: `POST /v1/rules/batch`, several changes that happen together or not at all. */
export function createRules(desks: Desks, services: RuleServices): Plugin {
  return {
    name: 'rules',
    after: ['auth', 'plan'],
    applies: 'management',
    setup: () => ({
      openapi: batchPaths,
      routes(router) {
        router.post('/v1/rules/batch', async (ctx) => {
          const { userId } = ctx.account
          const changes = readChanges(bodyOf(ctx), desks, userId)
          const outcomes = await carryOut(changes, services, userId, authorOf(ctx))
          ctx.body = {
            data: outcomes.map((outcome) => (outcome.type === 'rule' ? outcome.shown : { success: true })),
          }
        })
      },
    }),
  }
}
