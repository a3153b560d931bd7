import { expect } from 'chai'
import { reduceParameters } from '../../../../providers/shared/reduce-parameters.ts'
import { buildChatRequest } from '../../../support/market.ts'

const reduce = (fields: object) => {
  const { messages: _, ...parameters } = reduceParameters({ ...buildChatRequest(), ...fields }) ?? {
    messages: [],
  }
  return parameters
}

const tool = (name: string, more: object = {}) => ({ type: 'function', function: { name, ...more } })

describe('the parameters that decide which models fit', () => {
  it('are none without any, or with defaults, limits and fields about delivery', () => {
    const fields = { model: 'auto', stream: true, max_tokens: 7, user: 'u', presence_penalty: 0, stop: null }
    expect(reduceParameters({ ...buildChatRequest(), ...fields, tool_choice: 'auto' })).to.equal(undefined)
  })

  it('keep neither names, schemas nor texts of tools, formats and stop sequences', () => {
    const one = {
      tools: [tool('look', { description: 'Looks.', parameters: { type: 'object' } }), tool('listen')],
      tool_choice: { type: 'function', function: { name: 'look' } },
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { a: 1 } } },
      stop: ['END', 'STOP'],
    }
    const other = {
      tools: [tool('write')],
      tool_choice: { type: 'function', function: { name: 'write' } },
      response_format: { type: 'json_schema', json_schema: { name: 'b', schema: { b: 1 } } },
      stop: 'x',
    }
    expect(reduce(one)).to.deep.equal(reduce(other))
    expect(JSON.stringify(reduce(one))).not.to.match(/look|listen|Looks|END/)
  })

  it('tell strict tools, blank stop sequences and tools of other types apart', () => {
    const plain = reduce({ tools: [tool('look')], stop: ['x'] })
    expect(reduce({ tools: [tool('look', { strict: true })], stop: ['x'] })).not.to.deep.equal(plain)
    expect(reduce({ tools: [tool('look')], stop: ['x', ' '] })).not.to.deep.equal(plain)
    expect(reduce({ tools: [tool('look'), { type: 'custom' }], stop: ['x'] })).not.to.deep.equal(plain)
  })

  it('are the same for neighbouring numbers and for ids, so that their results can be kept', () => {
    expect(reduce({ temperature: 0.41 })).to.deep.equal(reduce({ temperature: 0.49 }))
    expect(reduce({ temperature: 1.01 })).not.to.deep.equal(reduce({ temperature: 1 }))
    expect(reduce({ seed: 1 })).to.deep.equal(reduce({ seed: 99 }))
    const trace = (id: number) => ({
      trace: { id: `7e2f8c52-0000-4000-8000-00000000000${id}`, deep: { id } },
    })
    expect(reduce(trace(1))).to.deep.equal(reduce(trace(2)))
    expect(reduce({ thinking: { type: 'disabled' } })).to.deep.equal({ thinking: { type: 'disabled' } })
  })
})
