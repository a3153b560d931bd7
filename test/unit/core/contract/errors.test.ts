import { expect } from 'chai'
import { declareErrorCodes, findErrorDefinition } from '../../../../core/contract/error-codes.ts'
import {
  EventLogUnavailableError,
  errorsOf,
  GatewayError,
  SharedStateUnavailableError,
  type SignalboxError,
  StreamDamagedError,
} from '../../../../core/contract/index.ts'
import { ServerTimeoutError } from '../../../../core/event-log/eventstore/errors.ts'
import { moduleUrl } from '../../../support/root.ts'

describe('an error of Signalbox', () => {
  const errors = {
    SharedStateUnavailableError: new SharedStateUnavailableError('gone'),
    StreamDamagedError: new StreamDamagedError('user-1', 'was deleted'),
    EventLogUnavailableError: new ServerTimeoutError(),
  }
  const isOf = (Class: typeof SignalboxError & { readonly prototype: SignalboxError }) =>
    Object.values(errors).map((error) => Class.isInstance(error))

  it('has the name of its class, and classes that extend one are instances of it', () => {
    for (const [name, error] of Object.entries(errors)) expect(error.name).to.equal(name)
    expect(isOf(SharedStateUnavailableError)).to.deep.equal([true, false, false])
    expect(isOf(EventLogUnavailableError)).to.deep.equal([false, false, true])
    for (const other of [undefined, null, {}, new Error('other'), errors.StreamDamagedError.message])
      expect(StreamDamagedError.isInstance(other)).to.equal(false)
  })

  it('is one of another copy of its class, too', async () => {
    const url = `${moduleUrl('core/contract/shared-state')}?copy`
    const copy: typeof import('../../../../core/contract/shared-state.ts') = await import(url)
    expect(new copy.SharedStateUnavailableError('gone')).not.instanceOf(SharedStateUnavailableError)
    expect(SharedStateUnavailableError.isInstance(new copy.SharedStateUnavailableError('gone'))).to.equal(
      true,
    )
    expect(copy.SharedStateUnavailableError.isInstance(errors.SharedStateUnavailableError)).to.equal(true)
  })
})

describe('a GatewayError', () => {
  it('has the status and type of its code', () => {
    const error = new GatewayError('not_found', 'Rule 7 was not found.', { param: 'id' })
    expect(error).to.include({ code: 'not_found', status: 404, type: 'not_found_error' })
    expect(error.details.param).to.equal('id')
  })

  it('may have a code of a plugin', () => {
    const custom = { code: 'card_number', status: 422, type: 'validation_error', message: 'A card number.' }
    const error = new GatewayError({ ...custom, param: 'input' })
    expect(error).to.include(custom)
    expect(error.details.param).to.equal('input')
    expect(error.mayFailOver).to.equal(false)
  })

  it('is created by a plugin with the status and type that the plugin declares', () => {
    const cardError = errorsOf({ card: { status: 422, type: 'validation_error', description: 'A card.' } })
    const error = cardError('card', 'A card number.', { param: 'input' })
    expect(error).to.include({ code: 'card', status: 422, type: 'validation_error' })
    expect(error.details).to.deep.equal({ param: 'input' })
  })

  it('may have a code that is declared to another copy of this module, as plugins bundle them', async () => {
    const url = `${moduleUrl('core/contract/error-codes')}?copy`
    const copy: typeof import('../../../../core/contract/error-codes.ts') = await import(url)
    expect(copy.declareErrorCodes).not.to.equal(declareErrorCodes)
    const definition = { status: 451, type: 'validation_error', description: 'Declared to one copy.' }
    const forget = declareErrorCodes({ declared_to_one_copy: definition })
    expect(copy.findErrorDefinition('declared_to_one_copy')).to.deep.equal(definition)
    expect(copy.findErrorDefinition('toString')).to.equal(undefined)
    forget()
  })

  it('has the definition of the newest gateway of the process that defines its code', () => {
    const find = () => findErrorDefinition('of_two_gateways')?.status
    const declare = (status: number) =>
      declareErrorCodes({ of_two_gateways: { status, type: 'api_error', description: 'Declared twice.' } })
    const forgetFirst = declare(422)
    const forgetSecond = declare(451)
    expect(find()).to.equal(451)
    forgetSecond()
    expect(find()).to.equal(422)
    forgetFirst()
    expect(find()).to.equal(undefined)
  })

  it('refuses a status that is not that of an error', () => {
    for (const status of [200, 399, 600, Number.NaN])
      expect(() => new GatewayError({ code: 'card_number', status, message: 'A card number.' })).to.throw(
        TypeError,
        `${status} is not the status of an error. Pass one from 400 to 599.`,
      )
  })

  it('refuses a code that is not defined, and says how to define one', () => {
    expect(() => new GatewayError('declared_nowhere' as 'refused', 'A card number.')).to.throw(
      TypeError,
      'Declare it in errorCodes, or pass { code, status, type, message }',
    )
  })
})
