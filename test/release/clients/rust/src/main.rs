//! Calls a gateway with async-openai, as the README of the folder above says.

mod cases;
mod chat;
mod errors;
mod options;
mod responses;
mod stored;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    chat::run().await;
    responses::run().await;
    stored::run().await;
    options::run().await;
    errors::run().await;
}
