import type { JsonObject } from '../../core/contract/json.ts'

/** The request body, as far as we fill it: https://ai.google.dev/api/generate-content. Unknown fields are refused. */
export interface GenerateBody {
  readonly contents: readonly Content[]
  readonly systemInstruction?: { readonly parts: readonly TextPart[] }
  readonly tools?: readonly { readonly functionDeclarations: readonly FunctionDeclaration[] }[]
  readonly toolConfig?: { readonly functionCallingConfig: FunctionCallingConfig }
  readonly generationConfig: GenerationConfig
}

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: readonly Part[]
}

export type Part = TextPart | MediaPart | FunctionCallPart | FunctionResponsePart

export interface TextPart {
  readonly text: string
}

export type MediaPart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly fileUri: string; readonly mimeType?: string } }

export interface FunctionCallPart {
  readonly functionCall: { readonly name: string; readonly args: JsonObject; readonly id?: string }
  readonly thoughtSignature?: string
}

export interface FunctionResponsePart {
  readonly functionResponse: { readonly name: string; readonly response: JsonObject; readonly id?: string }
}

export interface FunctionDeclaration {
  readonly name: string
  readonly description?: string
  /** Real JSON schema, unlike `parameters`. */
  readonly parametersJsonSchema?: unknown
}

export interface FunctionCallingConfig {
  /** `VALIDATED` is `AUTO` with arguments that are held to the schema. */
  readonly mode: 'AUTO' | 'ANY' | 'NONE' | 'VALIDATED'
  readonly allowedFunctionNames?: readonly string[]
}

/** What is undefined is left out of the JSON. */
export interface GenerationConfig {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly seed?: number | undefined
  readonly responseMimeType?: string
  readonly responseJsonSchema?: unknown
  readonly thinkingConfig?: ThinkingConfig | undefined
}

/** A level from Gemini 3 on, a budget of tokens before; both together are refused. */
export type ThinkingConfig = { readonly includeThoughts?: true } & (
  | { readonly thinkingLevel: ThinkingLevel }
  | { readonly thinkingBudget: number }
)

export type ThinkingLevel = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'

/** Whose rules a model follows: those of Gemini from 3 on, of Gemini up to 2.5, or of Gemma. */
export type Family = 'gemini' | 'gemini-2' | 'gemma'
