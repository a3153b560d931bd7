import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { openRouterThread, type ReplayJob } from '../../../../config/gateway/router-thread.ts'
import { readSettings } from '../../../../config/settings/settings.ts'
import type { TrainingJob } from '../../../../plugins/learned-routing/train.ts'
import { makeFolder } from '../../../support/folders.ts'
import { TEST_ENVIRONMENT } from '../../../support/gateway.ts'

const job: TrainingJob = { scope: { everyone: true }, since: 0, minRatings: 1, models: [] }

describe('the thread of routers', () => {
  it('refuses jobs when several wait, and ends all of them when it is closed', async () => {
    const settings = readSettings({ ...TEST_ENVIRONMENT, DATA_DIR: await makeFolder() })
    const thread = openRouterThread(settings, 'log')
    const messageOf = async () => {
      try {
        return (await thread.train(job)).type
      } catch (error) {
        return (error as Error).message
      }
    }
    const accepted = Array.from({ length: 4 }, messageOf)
    expect(await messageOf()).to.match(/^4 trainings and what-ifs run or wait on this node/)

    await thread.close()
    expect(new Set(await Promise.all(accepted))).to.deep.equal(new Set(['the gateway stops']))
    expect(await messageOf()).to.equal('the gateway stops')
  })

  it('ends a what-if whose caller has gone, running or waiting, and goes on with the next job', async () => {
    const settings = readSettings({ ...TEST_ENVIRONMENT, DATA_DIR: await makeFolder() })
    const thread = openRouterThread(settings, 'log')
    const callers = [new AbortController(), new AbortController()]
    const replays = callers.map(({ signal }) =>
      thread.replay({} as ReplayJob, signal).catch((error: Error) => error.message),
    )
    await setImmediate()
    for (const [index, caller] of callers.entries()) caller.abort(new Error(`caller ${index} has gone`))
    expect(await Promise.all(replays)).to.deep.equal(['caller 0 has gone', 'caller 1 has gone'])

    // There is no ledger, which the thread of the next job finds out.
    const next = await thread.train(job).catch((error: Error) => error.message)
    expect(next).to.equal('unable to open database file')
    await thread.close()
  })
})
