import { expect } from 'chai'
import { vertex } from '../../../../providers/vertex/adapter.ts'
import { createVertexPath } from '../../../../providers/vertex/location.ts'

const VARIABLE = 'GOOGLE_VERTEX_BASE_URL'

describe('the location of Vertex AI', () => {
  const before = process.env[VARIABLE]
  beforeEach(() => {
    delete process.env[VARIABLE]
  })
  afterEach(() => {
    if (before === undefined) delete process.env[VARIABLE]
    else process.env[VARIABLE] = before
  })

  for (const [location, url] of [
    ['europe-west4', 'https://europe-west4-aiplatform.googleapis.com'],
    ['us', 'https://aiplatform.us.rep.googleapis.com'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com'],
    ['global', 'https://aiplatform.googleapis.com'],
  ] as const) {
    it(`${location} has the address ${url}`, () => {
      expect(vertex.baseUrl?.({ location })).to.equal(url)
    })
  }

  it('is replaced by the variable of the SDKs, and is otherwise required', () => {
    expect(vertex.baseUrl?.({})).to.equal(undefined)
    process.env[VARIABLE] = 'https://vertex.internal.example'
    expect(vertex.baseUrl?.({ location: 'us' })).to.equal('https://vertex.internal.example')
  })

  it('is in the path with the project and the model, which cannot lead elsewhere', () => {
    const pathOf = createVertexPath({ project: 'rail', location: 'global' })
    expect(pathOf('anthropic', 'claude-sonnet-4-5@20250929', 'rawPredict')).to.equal(
      '/v1/projects/rail/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
    )
    expect(pathOf('google', '../../x?y#z', 'generateContent')).to.equal(
      '/v1/projects/rail/locations/global/publishers/google/models/..%2F..%2Fx%3Fy%23z:generateContent',
    )
  })
})
