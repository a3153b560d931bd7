import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { Refusal } from '../format.ts'

/** The fields of a message of the API; `true` for one whose own fields are not looked at. */
interface Shape {
  readonly [field: string]: Shape | true
}

const PART: Shape = {
  ...fields('text thought thoughtSignature videoMetadata mediaResolution executableCode codeExecutionResult'),
  inlineData: fields('mimeType data'),
  fileData: fields('mimeType fileUri'),
  functionCall: fields('id name args'),
  functionResponse: fields('id name response parts scheduling willContinue'),
}

const CONTENT: Shape = { ...fields('role'), parts: PART }

const GENERATION_CONFIG: Shape = {
  ...fields(`stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount
    maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs
    enableEnhancedCivicAnswers speechConfig mediaResolution`),
  thinkingConfig: fields('includeThoughts thinkingBudget thinkingLevel'),
}

const DECLARATION = fields(
  'name description behavior parameters parametersJsonSchema response responseJsonSchema',
)

const REQUEST: Shape = {
  ...fields('safetySettings cachedContent serviceTier store continuationToken'),
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: {
    ...fields('googleSearch codeExecution urlContext fileSearch computerUse googleMaps'),
    functionDeclarations: DECLARATION,
  },
  toolConfig: {
    ...fields('retrievalConfig includeServerSideToolInvocations'),
    functionCallingConfig: fields('mode allowedFunctionNames'),
  },
  generationConfig: GENERATION_CONFIG,
}

function fields(names: string): Readonly<Record<string, true>> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, true]))
}

/** Throws a `Refusal` (400) that names the first field that Gemini does not know, as of November 2026. */
export function refuseUnknownFields(body: JsonObject): void {
  check(body, REQUEST, '')
}

function check(value: unknown, shape: Shape | true, path: string): void {
  if (shape === true) return
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) check(each, shape, `${path}[${index}]`)
  } else if (isJsonObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const known = Object.hasOwn(shape, name) ? shape[name] : undefined
      if (known === undefined) throw refuse(name, path)
      check(field, known, path === '' ? name : `${path}.${name}`)
    }
  }
}

function refuse(name: string, path: string): Refusal {
  const at = path === '' ? '' : ` at '${path}'`
  return new Refusal(400, `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`)
}
