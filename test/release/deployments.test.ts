import {
  expectExactDeployments,
  resetDeployments,
  STORM_LIMITS,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../support/deployments.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { requireRedis } from '../support/redis.ts'

describe('limits of deployments', function () {
  this.timeout(180_000)
  let both: TwoDeployments
  before(async () => {
    both = await startDeployments()
  })
  beforeEach(() => resetDeployments(both))
  after(() => both.close())

  it('are exact for two workers', async () => {
    const environment = await withDeployments(both, STORM_LIMITS)
    const gateway = await startGatewayProcess({ ...environment, WORKERS: '2' })
    await expectExactDeployments(both, [gateway], gateway.demoKey)
    await gateway.stop()
  })

  it('are exact for two nodes of two workers with Redis', async function () {
    const redis = await requireRedis(this)
    const environment = { ...(await withDeployments(both, STORM_LIMITS, redis)), WORKERS: '2' }
    const first = await startGatewayProcess(environment)
    const { dataDir, demoKey } = first
    const second = await startGatewayProcess(environment, { dataDir, demoKey })
    await expectExactDeployments(both, [first, second], demoKey)
    await Promise.all([first.stop(), second.stop()])
    await redis.stop()
  })
})
