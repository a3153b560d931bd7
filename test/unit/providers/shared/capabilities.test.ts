import { expect } from 'chai'
import { limitRequest } from '../../../../providers/shared/catalog.ts'

const messages = [{ role: 'user' as const, content: 'Hi' }]
const none = { json: 'none', logit_bias: false, seed: false } as const

describe('limiting a request to what a provider takes', () => {
  it('leaves out logit_bias and seed, and says so', () => {
    const { request, omitted } = limitRequest({ messages, seed: 0, logit_bias: { 5: 1 }, top_p: 1 }, none)
    expect(request).to.deep.equal({ messages, top_p: 1 })
    expect(omitted).to.have.members(['seed', 'logit_bias'])
  })

  it('leaves in what the provider takes', () => {
    const request = { messages, seed: 1, logit_bias: { 5: 1 } }
    const limited = limitRequest(request, { json: 'none', logit_bias: true, seed: true })
    expect(limited).to.deep.equal({ request, omitted: [] })
  })

  it('says nothing about fields that were not set', () => {
    const request = { messages, seed: null }
    expect(limitRequest(request, none)).to.deep.equal({ request, omitted: [] })
  })

  it('does not touch the request it was given', () => {
    const request = Object.freeze({ messages, seed: 1 })
    limitRequest(request, none)
    expect(request).to.have.property('seed')
  })
})
